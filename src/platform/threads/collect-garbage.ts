// Gives memory back after a large piece of work. The engine keeps what it once had for the next time, and a thread that has
// read 40 MB would keep hundreds of them for as long as it lives.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/** Takes tens of milliseconds: for threads that have nothing else to do. */
export function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
