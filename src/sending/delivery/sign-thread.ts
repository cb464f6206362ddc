// The thread behind `Signers`: signs what it is handed, at a lower priority than the thread that hands it over.
import { execFile } from 'node:child_process'
import { sign } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { SigningAnswer, SigningTask } from './signers.ts'

/** The least there is: a sixtieth of the weight of a thread at 0 in Linux's scheduler. Alone, it still gets the whole core. */
const NICE = 19

giveWay()
parentPort?.on('message', (tasks: SigningTask[]) => parentPort?.postMessage(tasks.map(answer)))

function answer({ data, key }: SigningTask): SigningAnswer {
  try {
    return { signature: sign('sha256', data, key) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'could not be signed' }
  }
}

/** On Linux a priority belongs to a thread, and its id stands behind this link. Elsewhere nothing is changed. */
function giveWay(): void {
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(threadId, NICE)
    // Where util-linux is: a thread that only runs when nobody else wants to is also interrupted at once. A nice one may
    // finish its time slice of some milliseconds first, and a batch of mail wakes up many times on its way.
    execFile('chrt', ['--idle', '--pid', '0', String(threadId)], () => {})
  } catch {
    // No such file, or not allowed: signing then competes as an equal.
  }
}
