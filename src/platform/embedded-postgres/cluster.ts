/**
 * The database cluster on disk. It is made beside its place and renamed into it, whole and with its password inside,
 * so there is never half a cluster: of two processes that create at once, the slower one discards its own and uses
 * the other's.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, closeSync, existsSync, fsyncSync, mkdtempSync, openSync } from 'node:fs'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { commandFor, fileOwner } from './account.ts'
import { OWN_DATABASE_HINT } from './binaries.ts'
import { identify, isAlive } from './processes.ts'
import type { Site } from './site.ts'

/** The role that initdb makes. The service connects as another one; see role.ts. */
export const SUPERUSER = 'sluice'

// Mostly the disk: initdb syncs some 40 MB. A second on a laptop, far longer on a slow card.
const INITDB_TIMEOUT_MS = 180_000
const PASSWORD_BYTES = 32

/** Creates the cluster unless there is one. Returns whether this call created it. */
export async function ensureCluster(site: Site): Promise<boolean> {
  discardLeftovers(site.folder)
  if (isCluster(site)) return false
  const created = await createCluster(site)
  if (!isCluster(site)) {
    throw new Error(`${site.cluster} holds something that is not a database. Move it away. ${OWN_DATABASE_HINT}`)
  }
  return created
}

export function readPassword(site: Site): string {
  const path = join(site.cluster, 'password')
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Error(`Cannot read ${path}: run as the user who owns it. ${OWN_DATABASE_HINT}`, { cause })
  }
}

function isCluster(site: Site): boolean {
  const path = join(site.cluster, 'PG_VERSION')
  if (!existsSync(path)) return false
  const major = readFileSync(path, 'utf8').trim()
  if (major === site.major) return true
  throw new Error(
    `The database in ${site.folder} was made by PostgreSQL ${major}, ` +
      `this version of Sluice brings PostgreSQL ${site.major}. ` +
      'Run the version of Sluice that made it, or dump it there and load it into a new folder. ' +
      OWN_DATABASE_HINT,
  )
}

async function createCluster(site: Site): Promise<boolean> {
  const creator = identify(process.pid)
  const workshop = mkdtempSync(join(site.folder, `new-${creator?.pid}-${creator?.started}-`))
  const data = join(workshop, 'data')
  const password = join(workshop, 'password')
  try {
    writeFileSync(password, randomBytes(PASSWORD_BYTES).toString('base64url'), { mode: 0o600 })
    const owner = fileOwner(site.account)
    if (owner) for (const path of [workshop, password]) chownSync(path, owner.uid, owner.gid)
    await initialise(site, { data, password })
    renameSync(password, join(data, 'password'))
    sync(join(data, 'password'))
    sync(data)
    renameSync(data, site.cluster)
    sync(site.folder)
    return true
  } catch (cause) {
    // Another process was faster: a folder cannot be renamed onto one that is not empty.
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(cause))) return false
    throw cause
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
}

async function initialise(site: Site, { data, password }: { data: string; password: string }): Promise<void> {
  const { file, args, ...user } = commandFor(site.account, site.binaries.initdb, [
    `--pgdata=${data}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${password}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
  ])
  const options = { ...user, cwd: '/', env: site.binaries.environment, timeout: INITDB_TIMEOUT_MS }
  try {
    await promisify(execFile)(file, args, options)
  } catch (cause) {
    const output = (cause as { stderr?: string }).stderr?.trim() || String(cause)
    throw new Error(`Creating the database in ${site.folder} failed: ${output}\n${OWN_DATABASE_HINT}`, { cause })
  }
}

/** Removes what creators left behind that were killed half-way. */
function discardLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid, started] = /^new-(\d+)-(.+)-[^-]+$/.exec(name) ?? []
    if (!pid || !started || isAlive({ pid: Number(pid), started })) continue
    rmSync(join(folder, name), { recursive: true, force: true })
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function errorCode(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? ''
}
