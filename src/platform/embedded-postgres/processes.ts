/**
 * Which process is meant by a process id. Ids are reused, above all in containers, so a process is known by its id
 * together with the moment it began; a zombie counts as gone. `watchdog.sh` holds the same rule in shell.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Opaque, without blanks: clock ticks since boot on Linux, date and time elsewhere. */
  readonly started: string
}

const HAS_PROC = existsSync('/proc/self/stat')
const PS_TIMEOUT_MS = 5_000

/** The process that has this id now, or null when there is none or only a zombie is left of it. */
export function identify(pid: number): ProcessIdentity | null {
  const [state, started] = HAS_PROC ? stateFromProc(pid) : stateFromPs(pid)
  if (!state || !started || state.startsWith('Z') || state.startsWith('X')) return null
  return { pid, started }
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started
}

/** Sends a signal unless the process is gone already. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return
  try {
    process.kill(identity.pid, signal)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause
  }
}

/**
 * True when the process was started as `postgres … -D folder`. The command line is asked and not /proc/<pid>/cwd or
 * exe: root in a container without CAP_SYS_PTRACE may not read those of another user's process.
 */
export function isServerOf(pid: number, cluster: string): boolean {
  if (!HAS_PROC) return ps(pid, 'command=').includes(`-D ${cluster} `)
  const args = readOrEmpty(`/proc/${pid}/cmdline`).split('\0')
  const folder = args[args.indexOf('-D') + 1]
  return args.includes('-D') && folder !== undefined && isSameFolder(folder, cluster)
}

function stateFromProc(pid: number): string[] {
  const stat = readOrEmpty(`/proc/${pid}/stat`)
  // The second field is the program's name in brackets and may itself hold blanks and brackets (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  return [fields[0] ?? '', fields[19] ?? '']
}

function stateFromPs(pid: number): string[] {
  const [state, ...started] = ps(pid, 'stat=', 'lstart=').trim().split(/\s+/)
  return [state ?? '', started.join('_')]
}

function ps(pid: number, ...columns: string[]): string {
  const args = [...columns.flatMap(column => ['-o', column]), '-ww', '-p', String(pid)]
  return spawnSync('ps', args, {
    encoding: 'utf8',
    timeout: PS_TIMEOUT_MS,
    env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
  }).stdout
}

export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // No such file or process, or one of another user that /proc hides: in neither case one of ours.
    return ''
  }
}

function isSameFolder(one: string, other: string): boolean {
  if (one === other) return true
  const [a, b] = [one, other].map(path => statSync(path, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}
