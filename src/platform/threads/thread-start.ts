// What a thread of the pool runs: it steps back behind the main thread, then does one job after the other. The module of a
// kind of work is loaded at its first job. Loading takes a good part of a second of a core, and a handful of threads that
// start together would keep everybody waiting.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, type Transferable } from 'node:worker_threads'
import { collectGarbage } from './heap.ts'
import { cpuMsOf } from './cpu-time.ts'

export interface ThreadOrder {
  module: string
  input: unknown
}

/** What a thread tells: that it is up, that the module of its job is loaded, or what came of the job. */
export interface ThreadNews {
  kind: 'ready' | 'loaded' | 'done'
  /** The time of a core that it has used since it began. */
  cpuMs: number
  output?: unknown
}

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
port.on('message', async ({ module, input }: ThreadOrder) => {
  const work = loaded.get(module) ?? (await load(module))
  const { output, transfer = [], bytes } = await work(input)
  tell('done', output, transfer)
  if (bytes > COLLECT_BYTES_MIN) setImmediate(collectGarbage)
})
tell('ready')

async function load(module: string): Promise<Work<unknown, unknown>> {
  const { work } = (await import(module)) as { work: Work<unknown, unknown> }
  loaded.set(module, work)
  tell('loaded')
  return work
}

function tell(kind: ThreadNews['kind'], output?: unknown, transfer: readonly Transferable[] = []): void {
  const news: ThreadNews = { kind, cpuMs: cpuMsOf(process.threadCpuUsage()), output }
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
