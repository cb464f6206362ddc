/**
 * Starts the watchdog, a small shell process at the other end of a pipe from this one. Whether we stop or are killed,
 * the pipe ends and the watchdog takes our leave from the server, so both take the same path.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessIdentity } from './processes.ts'
import type { Site } from './site.ts'

export interface Watchdog {
  /** Names the server that is watched from now on. */
  readonly watch: (server: ProcessIdentity, socketFolder: string) => void
  /** Takes leave. Resolves when the server is gone or left to others, or when that took too long. */
  release(timeoutMs: number): Promise<'gone' | 'left to others' | 'late'>
}

const SCRIPT = fileURLToPath(new URL('watchdog.sh', import.meta.url))
const LEFT_TO_OTHERS = 3
const RESPAWN_AFTER_MS = 500

export function startWatchdog(site: Site, holderFile: string): Watchdog {
  let released = false
  let watched = ''
  let child = begin()

  function begin(): ChildProcess {
    const child = spawn('/bin/sh', [SCRIPT, holderFile, site.users], {
      // A session of its own: Ctrl-C in the terminal reaches neither the watchdog nor, through it, the server.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      env: { PATH: site.binaries.environment['PATH'] },
    })
    child.on('error', cause => site.log('error', 'the database watchdog did not start', { error: cause.message }))
    child.on('exit', () => void replace())
    // The pipe breaks when the watchdog is killed; its exit tells us.
    child.stdin?.on('error', () => {})
    child.stdin?.write(watched)
    // Neither the process nor the pipe keeps us running; their end is what it is there for.
    child.unref()
    unrefPipe(child)
    return child
  }

  async function replace(): Promise<void> {
    if (released) return
    site.log('warn', 'the database watchdog ended, starting another')
    await sleep(RESPAWN_AFTER_MS, undefined, { ref: false })
    if (!released) child = begin()
  }

  return {
    watch: (server, socketFolder) => {
      const line = `${server.pid} ${server.started} ${socketFolder}\n`
      if (line === watched) return
      watched = line
      child.stdin?.write(watched)
    },

    async release(timeoutMs) {
      released = true
      const timeout = AbortSignal.timeout(timeoutMs)
      while (!timeout.aborted) {
        // Killed, a moment ago or just now: the leave must be taken all the same.
        if (child.signalCode !== null) child = begin()
        child.ref()
        child.stdin?.end()
        if (!hasEnded(child)) await once(child, 'exit', { signal: timeout }).catch(() => {})
        if (child.exitCode === 0) return 'gone'
        if (child.exitCode === LEFT_TO_OTHERS) return 'left to others'
        if (child.exitCode !== null) break
      }
      return 'late'
    },
  }
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

function unrefPipe(child: ChildProcess): void {
  const pipe = child.stdin
  if (pipe && 'unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
}
