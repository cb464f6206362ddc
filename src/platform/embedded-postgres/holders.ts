/**
 * Who uses the server: one small file for each, named after the process, holding when that process began, where it
 * expects the socket, and which folder it was written into: one that was copied along says nothing. The last one to leave
 * shuts the server down, and the processes that are there agree on one socket folder.
 */
import { randomBytes } from 'node:crypto'
import { chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Account, fileOwner } from './account.ts'
import { lookForServer, removeDeadSocket } from './lock-file.ts'
import { identify, isAlive, readOrEmpty } from './processes.ts'
import type { Site } from './site.ts'

const SOCKET_FOLDER_PREFIX = 'sluice-'
// A socket's whole path must fit into 107 bytes on Linux and 103 on macOS; its name and mkdtemp's letters take part
// of that.
const SOCKET_FOLDER_BYTES_MAX = 80

export function newHolderFile(site: Site): string {
  return join(site.users, `${process.pid}-${randomBytes(6).toString('hex')}`)
}

/** Written beside and renamed, since others may read it at any moment. */
export function writeHolderFile(path: string, socketFolder: string): void {
  const me = identify(process.pid)
  const users = dirname(path)
  const fresh = join(users, `.${basename(path)}`)
  writeFileSync(fresh, `${me?.started}\n${socketFolder}\n${identityOf(users)}\n`, { mode: 0o600 })
  renameSync(fresh, path)
}

/**
 * The socket folder of the running server, else the one that other live holders expect (their server has just died
 * and they bring it up again), else a new one. Remains of the dead are removed on the way.
 */
export function agreeOnSocketFolder(site: Site): string {
  const sighting = lookForServer(site.cluster)
  const { live, dead } = readHolders(site)
  if (sighting.kind === 'remains' && sighting.socketFolder) dead.push(sighting.socketFolder)
  const current = sighting.kind === 'running' ? sighting.socketFolder : null

  for (const folder of dead)
    if (folder !== current && !live.includes(folder)) removeDeadSocketFolder(folder, site.account)
  return current ?? live[0] ?? createSocketFolder(site.account)
}

/**
 * A server can only be brought up again in its old place if that is still there; cleaners of /tmp may have taken it.
 */
export function restoreSocketFolder(path: string, account: Account): void {
  try {
    mkdirSync(path, { mode: 0o700 })
    giveTo(path, account)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    // Anyone may create folders in /tmp: never put a socket into a stranger's.
    if (!isOurs(path, account)) throw new Error(`The socket folder ${path} belongs to someone else`, { cause })
  }
}

/** Removes a socket folder unless it is in use, which it is when it is not empty. */
export function dropSocketFolder(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // In use, or gone already.
  }
}

/** Removes what a killed server left. Only where that can be nothing else: the path was read from a file. */
function removeDeadSocketFolder(path: string, account: Account): void {
  if (!basename(path).startsWith(SOCKET_FOLDER_PREFIX) || !isOurs(path, account)) return
  removeDeadSocket(path)
  dropSocketFolder(path)
}

function readHolders(site: Site): { live: string[]; dead: string[] } {
  const live: string[] = []
  const dead: string[] = []
  for (const name of readdirSync(site.users)) {
    const path = join(site.users, name)
    const pid = Number.parseInt(name.replace('.', ''))
    if (name.startsWith('.')) {
      // Being written, and perhaps empty as yet, or what is left of that.
      if (!identify(pid)) rmSync(path, { force: true })
      continue
    }
    const [started = '', socketFolder = '', folder] = readOrEmpty(path).split('\n')
    // Without one: of a version before.
    if (folder && folder !== identityOf(site.users)) rmSync(path, { force: true })
    else if (isAlive({ pid, started })) live.push(socketFolder)
    else {
      rmSync(path, { force: true })
      dead.push(socketFolder)
    }
  }
  return { live, dead }
}

/** Another one for a copy, wherever that lies. */
function identityOf(folder: string): string {
  const { dev, ino } = statSync(folder)
  return `${dev}:${ino}`
}

function createSocketFolder(account: Account): string {
  const wanted = join(tmpdir(), SOCKET_FOLDER_PREFIX)
  const prefix = Buffer.byteLength(wanted) <= SOCKET_FOLDER_BYTES_MAX ? wanted : `/tmp/${SOCKET_FOLDER_PREFIX}`
  const path = mkdtempSync(prefix)
  giveTo(path, account)
  return path
}

function giveTo(path: string, account: Account): void {
  const owner = fileOwner(account)
  if (owner) chownSync(path, owner.uid, owner.gid)
}

function isOurs(path: string, account: Account): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  const uid = fileOwner(account)?.uid ?? process.getuid?.()
  return found !== undefined && found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0
}
