// Test files that share a process, one after the other: loading the service takes longer than most of them do, and code that
// ran before is compiled. The processes of a run take their files from one list, so that none is the last one for long. After
// some files another process takes the next: what tests leave in memory makes collecting garbage dearer, and tests slower.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { after, describe } from 'node:test'
import { endFile } from './file-end.ts'
import { usePreparedPrimes } from './primes.ts'
import { endRunnerHooks, forgetEnded, startRunnerHooks } from './runner-hooks.ts'

/** In the folder of a queue: all files of the run, in the order in which they are taken. */
export const LIST = 'files.json'
/** What a process runs; a few tens of megabytes stay of them. */
const FILES_MAX = 30
/** A file that goes on for longer has stopped. */
const FILE_MS_MAX = 240_000
const GRACE_MS = 10_000

export interface QueueOptions {
  folder: string
  /** The runner then knows which test threw outside of its own promise. */
  hasHooks: boolean
}

/** How many processes it takes, of which so many run at once: the last ones find nothing left. */
export const processesFor = (files: number, atOnce: number): number =>
  files === 0 ? 0 : Math.ceil(files / FILES_MAX) + atOnce - 1

/** Settled when the list, or the share of a process in it, is at its end. */
export async function runQueue({ folder, hasHooks }: QueueOptions): Promise<void> {
  usePreparedPrimes()
  const files = JSON.parse(readFileSync(join(folder, LIST), 'utf8')) as string[]
  let taken = 0
  let current = ''
  // Without its hooks the runner does not know whose fault it is, and fails the process.
  for (const kind of ['uncaughtExceptionMonitor', 'unhandledRejection'] as const) {
    process.on(kind, () => void mark(`${current}.threw`))
  }
  for (const [n, file] of files.entries()) {
    if (taken === FILES_MAX) break
    const path = join(folder, String(n))
    if (!mark(`${path}.taken`)) continue
    current = path
    taken++
    const timer = endProcessIn(FILE_MS_MAX + GRACE_MS, `${file} does not end`)
    await runFile(file, hasHooks)
    clearTimeout(timer)
    mark(`${path}.ended`)
  }
  endProcessIn(GRACE_MS, 'what one of these files has begun goes on behind the last test')
}

function endProcessIn(ms: number, reason: string): NodeJS.Timeout {
  const end = (): void => {
    console.error(reason)
    process.exit(1)
  }
  return setTimeout(end, ms).unref()
}

/**
 * Files that no process has come to the end of, or that threw outside of a test. A process that comes to an end itself may not
 * have told of the files before: they count as well.
 */
export function unendedOf(folder: string, files: readonly string[]): string[] {
  const takers = files.map((_, n) => takerOf(join(folder, `${n}.taken`)))
  const isEnded = (n: number): boolean => existsSync(join(folder, `${n}.ended`))
  const ended = new Set(takers.filter((taker, n) => taker !== null && !isEnded(n)))
  const hasThrown = (n: number): boolean => existsSync(join(folder, `${n}.threw`))
  return files.filter((_, n) => !isEnded(n) || hasThrown(n) || ended.has(takers[n]!))
}

const takerOf = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null)

/** Of several processes it answers one with true. */
function mark(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function runFile(file: string, hasHooks: boolean): Promise<void> {
  const declared = Promise.withResolvers<void>()
  startRunnerHooks()
  const ended = describe(relative(process.cwd(), file), { timeout: FILE_MS_MAX }, async () => {
    after(endFile)
    await import(pathToFileURL(file).href).finally(declared.resolve)
  })
  await declared.promise
  if (!hasHooks) endRunnerHooks()
  await ended
  if (!hasHooks) forgetEnded()
}
