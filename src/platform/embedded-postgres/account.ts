/**
 * Which system user the server runs as. PostgreSQL refuses to run as root, so root hands it to `nobody` or, where
 * nobody cannot reach the files, runs it in a user namespace in which root is called nobody. The owner of an existing
 * cluster decides.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'
import { type Binaries, OWN_DATABASE_HINT } from './binaries.ts'

export type Account =
  | { readonly kind: 'self' }
  | { readonly kind: 'other'; readonly uid: number; readonly gid: number }
  | { readonly kind: 'namespace'; readonly uid: number; readonly gid: number }

interface Command {
  readonly file: string
  readonly args: string[]
  readonly uid?: number
  readonly gid?: number
}

const PROBE_TIMEOUT_MS = 10_000

/** The user to run as and the major version of the binaries, both found out by really running them as that user. */
export function chooseAccount(binaries: Binaries, cluster: string): { account: Account; major: string } {
  const failures: string[] = []
  for (const account of candidates(cluster)) {
    const probe = probeBinaries(account, binaries)
    if ('major' in probe) return { account, major: probe.major }
    failures.push(`${describe(account)}: ${probe.failure}`)
  }
  const tried = failures.join('; ') || 'there is no user `nobody`'
  const advice = 'Run Sluice as an ordinary user, or put it and its data where all users can reach them.'
  throw new Error(
    process.getuid?.() === 0
      ? `PostgreSQL does not run as root, and cannot be run otherwise here (${tried}). ${advice} ${OWN_DATABASE_HINT}`
      : `The embedded PostgreSQL cannot run on this system (${tried}). ${OWN_DATABASE_HINT}`,
  )
}

export function commandFor(account: Account, file: string, args: string[]): Command {
  if (account.kind === 'self') return { file, args }
  const { kind, uid, gid } = account
  if (kind === 'other') return { file, args, uid, gid }
  // unshare replaces itself by the program, so the process id stays the one we spawned.
  return { file: 'unshare', args: ['--user', `--map-user=${uid}`, `--map-group=${gid}`, '--', file, ...args] }
}

/** The owner that files for the server must have, where it is not the running user. */
export function fileOwner(account: Account): { uid: number; gid: number } | null {
  return account.kind === 'other' ? { uid: account.uid, gid: account.gid } : null
}

function candidates(cluster: string): Account[] {
  const me = process.getuid?.()
  const owner = statSync(cluster, { throwIfNoEntry: false })
  const nobody = findNobody()
  const namespace: Account[] = nobody && process.platform === 'linux' ? [{ kind: 'namespace', ...nobody }] : []
  if (me !== 0) {
    if (owner && owner.uid !== me) {
      throw new Error(`The database in ${cluster} belongs to user ${owner.uid}: run as that user. ${OWN_DATABASE_HINT}`)
    }
    // initdb refuses a user without an entry in the list of users, as in `docker run --user 1234`.
    return hasUserEntry() ? [{ kind: 'self' }] : namespace
  }
  if (owner) return owner.uid === 0 ? namespace : [{ kind: 'other', uid: owner.uid, gid: owner.gid }]
  return nobody
    ? [...(canReach(nobody, dirname(cluster)) ? [{ kind: 'other' as const, ...nobody }] : []), ...namespace]
    : []
}

/** Whether a user with no rights of its own gets into the folder: each one on the way must let it through. */
export function canReach({ uid, gid }: { uid: number; gid: number }, folder: string): boolean {
  for (let path = resolve(folder); ; path = dirname(path)) {
    const { mode, uid: owner, gid: group } = statSync(path)
    const mayPass = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001
    if ((mode & mayPass) === 0) return false
    if (path === dirname(path)) return true
  }
}

/** A run proves that the binaries can be reached and their libraries loaded. */
function probeBinaries(account: Account, binaries: Binaries): { major: string } | { failure: string } {
  const { file, args, ...user } = commandFor(account, binaries.postgres, ['--version'])
  const options = { ...user, cwd: '/', env: binaries.environment, encoding: 'utf8', timeout: PROBE_TIMEOUT_MS } as const
  const run = spawnSync(file, args, options)
  const major = /\(PostgreSQL\) (\d+)/.exec(run.stdout ?? '')?.[1]
  if (run.status === 0 && major) return { major }
  return { failure: run.error?.message ?? (run.stderr.trim().split('\n').at(-1) || `ended with ${run.status}`) }
}

function describe(account: Account): string {
  if (account.kind === 'self') return 'as this user'
  return account.kind === 'other' ? `as user ${account.uid}` : 'in a user namespace'
}

function findNobody(): { uid: number; gid: number } | null {
  const users = readFileSync('/etc/passwd', 'utf8')
  const match = /^nobody:[^:]*:(\d+):(\d+):/m.exec(users)
  return match ? { uid: Number(match[1]), gid: Number(match[2]) } : null
}

function hasUserEntry(): boolean {
  try {
    userInfo()
    return true
  } catch {
    return false
  }
}
