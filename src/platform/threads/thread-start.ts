// What a thread of the pool runs: it steps back behind the main thread, then does one job after the other. The module of a
// kind of work is loaded at its first job, or before it when the pool asks for that.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, type Transferable } from 'node:worker_threads'
import { collectGarbage } from './heap.ts'
import { cpuMsOf } from './cpu-time.ts'

export type ThreadOrder = { kind: 'load'; module: string } | { kind: 'work'; module: string; input: unknown }

/**
 * That a module is loaded, or could not be loaded ahead; what came of the job (with which it is free, or not yet); or that it
 * can take a job.
 */
type Told =
  | { kind: 'free' | 'not_loaded' }
  | { kind: 'loaded'; module: string }
  | { kind: 'done'; output: unknown; isFree: boolean }

/** With the time of a core that the thread has used since it began. */
export type ThreadNews = Told & { cpuMs: number }

/** What a module of work exports as `work`. */
export type Work<In, Out> = (input: In) => Done<Out> | Promise<Done<Out>>

interface Done<Out> {
  output: Out
  /** Memory that is given away with it. */
  transfer?: readonly Transferable[]
  /** How much was worked on: memory is given back after a large job. */
  bytes: number
}

/** A tenth of the weight of a thread at 0 in Linux's scheduler. Alone, it still gets the whole core. */
const NICE = 10
/** Work on more bytes than this is worth collecting after. */
const COLLECT_BYTES_MIN = 1024 * 1024

const port = parentPort
if (!port) throw new Error('thread-start.ts runs as a worker thread')

const loaded = new Map<string, Work<unknown, unknown>>()

giveWay()
// One order after the other: a job that comes while a module is loaded ahead begins behind that, and so do its limits.
let last = Promise.resolve()
port.on('message', (order: ThreadOrder) => {
  last = last.then(() => (order.kind === 'load' ? loadAhead(order.module) : doJob(order.module, order.input)))
})
tell({ kind: 'free' })

async function doJob(module: string, input: unknown): Promise<void> {
  const work = loaded.get(module) ?? (await load(module))
  const { output, transfer = [], bytes } = await work(input)
  const isFree = bytes <= COLLECT_BYTES_MIN
  tell({ kind: 'done', output, isFree }, transfer)
  if (!isFree) setImmediate(collect)
}

/** A short job in a thread that collects would wait tens of milliseconds for it. */
function collect(): void {
  collectGarbage()
  tell({ kind: 'free' })
}

/** No job fails with it: one that has come meanwhile may need another module. */
async function loadAhead(module: string): Promise<void> {
  await load(module).catch(() => tell({ kind: 'not_loaded' }))
}

async function load(module: string): Promise<Work<unknown, unknown>> {
  const { work } = (await import(module)) as { work: Work<unknown, unknown> }
  loaded.set(module, work)
  tell({ kind: 'loaded', module })
  return work
}

function tell(told: Told, transfer: readonly Transferable[] = []): void {
  const news: ThreadNews = { ...told, cpuMs: cpuMsOf(process.threadCpuUsage()) }
  port!.postMessage(news, transfer)
}

/** On Linux a priority belongs to a thread, and its id stands behind this link. Elsewhere nothing is changed. */
function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICE)
  } catch {
    // No such file, or not allowed: the thread then competes as an equal.
  }
}
