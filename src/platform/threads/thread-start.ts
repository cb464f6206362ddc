// The first thing that a thread of a pool runs: it steps back behind the main thread, then loads its module. Loading alone
// takes a good part of a second of a core, and a handful of threads that start together would keep everybody waiting.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'

/** A tenth of the weight of a thread at 0 in Linux's scheduler. Alone, it still gets the whole core. */
const NICE = 10

giveWay()
await import((workerData as { module: string }).module)

/** On Linux a priority belongs to a thread, and its id stands behind this link. Elsewhere nothing is changed. */
function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), NICE)
  } catch {
    // No such place, or not allowed: the thread then competes as an equal.
  }
}
