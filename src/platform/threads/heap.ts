// How much memory the engine keeps. Left to itself it lets garbage grow to several times what is alive, and keeps the pages
// that a collection has freed, resident, for the next time.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Of what is alive after a collection: garbage beyond it is collected. */
const GARBAGE_PERCENT_MAX = 100

/** For all threads of the process. */
export const boundGarbage = (): void => setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT_MAX}`)

let collect: ((options: object) => void) | null = null

/**
 * Gives memory back after a large piece of work: a thread that has read 40 MB would keep hundreds of them for as long as it
 * lives. Takes tens of milliseconds: for threads that have nothing else to do.
 */
export function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as (options: object) => void
  }
  // Any other flavor keeps the freed pages.
  collect({ type: 'major', flavor: 'last-resort' })
}
