/**
 * Reads postmaster.pid, by which a PostgreSQL server locks its cluster, and tells a live server from remains. Only
 * remains that would keep PostgreSQL from starting are removed; whatever it can judge itself is left to it.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { identify, isServerOf, type ProcessIdentity } from './processes.ts'
import { PORT } from './settings.ts'

export type Sighting =
  | { readonly kind: 'none' }
  /** Empty: a server is about to write it, or died just then. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'remains'; readonly socketFolder: string | null; readonly blocks: boolean }
  | RunningServer

interface RunningServer {
  readonly kind: 'running'
  readonly server: ProcessIdentity
  readonly status: 'starting' | 'ready' | 'stopping'
  /** Null for the moment between taking the lock and opening the socket. */
  readonly socketFolder: string | null
}

// Line numbers from PostgreSQL's pidfile.h, counted from 0.
const LINE = { pid: 0, cluster: 1, socketFolder: 4, status: 7 }

export function lookForServer(cluster: string): Sighting {
  const lines = readLockFile(lockFile(cluster))
  if (lines === null) return { kind: 'none' }
  const pid = pidIn(lines)
  if (!(pid > 0)) return { kind: 'empty' }

  const socketFolder = lines[LINE.socketFolder] || null
  const server = identify(pid)
  if (server && isServerOf(pid, cluster)) {
    const status = lines[LINE.status]?.trim()
    return {
      kind: 'running',
      server,
      socketFolder,
      status: status === 'ready' || status === 'stopping' ? status : 'starting',
    }
  }
  // PostgreSQL asks only whether the id is taken, so a zombie or a stranger with that id would keep it out.
  return { kind: 'remains', socketFolder, blocks: isTaken(pid) }
}

/**
 * Removes a lock that nobody holds. Should processes of the dead server still be there, PostgreSQL finds their shared
 * memory, whose key comes from the cluster folder itself, and refuses to start until they have gone.
 */
export function removeLock(cluster: string, socketFolder: string | null): void {
  rmSync(lockFile(cluster), { force: true })
  if (socketFolder) removeDeadSocket(socketFolder)
}

/** A folder that was copied while its server ran names the socket of that server, which is not for us to remove. */
export function removeDeadSocket(socketFolder: string): void {
  const [socket, lock] = socketFiles(socketFolder)
  const lines = readLockFile(lock)
  if (lines !== null && isServerOf(pidIn(lines), lines[LINE.cluster] ?? '')) return
  for (const file of [socket, lock]) rmSync(file, { force: true })
}

export function socketFiles(socketFolder: string): [socket: string, lock: string] {
  const socket = join(socketFolder, `.s.PGSQL.${PORT}`)
  return [socket, `${socket}.lock`]
}

function readLockFile(path: string): string[] | null {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}

/** A server in single-user mode writes its id with a minus. */
const pidIn = (lines: readonly string[]): number => Math.abs(Number(lines[LINE.pid]))

const lockFile = (cluster: string) => join(cluster, 'postmaster.pid')

function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}
