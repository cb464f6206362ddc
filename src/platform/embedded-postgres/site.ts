/** Everything about one embedded database that stays the same while this process holds it. */
import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Account, chooseAccount } from './account.ts'
import { type Binaries, OWN_DATABASE_HINT, prepareBinaries } from './binaries.ts'

export type Log = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

export interface Site {
  readonly folder: string
  /** PostgreSQL's data directory. */
  readonly cluster: string
  /** One file for each process that uses the server. */
  readonly users: string
  readonly logFile: string
  readonly binaries: Binaries
  /** Major version of the binaries. */
  readonly major: string
  readonly account: Account
  readonly settings: Record<string, string>
  readonly log: Log
}

export function prepareSite(options: { folder: string; log: Log; settings?: Record<string, string> }): Site {
  if (process.platform === 'win32') {
    throw new Error(`The embedded PostgreSQL does not run on Windows. ${OWN_DATABASE_HINT}`)
  }
  try {
    const folder = makeFolder(resolve(options.folder))
    const users = join(folder, 'users')
    mkdirSync(users, { recursive: true, mode: 0o700 })
    const cluster = join(folder, 'cluster')
    const binaries = prepareBinaries(folder)
    const { account, major } = chooseAccount(binaries, cluster)
    const { log, settings = {} } = options
    return { folder, cluster, users, logFile: join(folder, 'log'), binaries, major, account, settings, log }
  } catch (cause) {
    if (
      !['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOTDIR', 'EEXIST'].includes((cause as NodeJS.ErrnoException).code ?? '')
    )
      throw cause
    const reason = (cause as Error).message
    throw new Error(`Cannot use the database folder ${options.folder}: ${reason}. ${OWN_DATABASE_HINT}`, { cause })
  }
}

/** Answers with the real path, so that two ways to the same folder compare equal. */
function makeFolder(path: string): string {
  const isNew = mkdirSync(path, { recursive: true }) !== undefined
  // Root's server runs as nobody, who must be able to pass through. What lies inside is closed by itself.
  if (isNew) chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700)
  return realpathSync(path)
}
