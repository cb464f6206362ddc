// Large messages get their signature and their form on the wire in a thread: on the main thread 36 MB would keep everybody
// waiting for a second.
import { rememberWireForm } from '../../smtp/dot-stuff.ts'
import { asBuffer, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { FinishedSource, UnfinishedSource } from './source-thread.ts'

const FINISHING: ThreadWork = {
  module: new URL('./source-thread.ts', import.meta.url),
  // As many as are in flight.
  queueMax: 1_000,
  timeoutMs: 30_000,
}

/** The source as it is sent. It is given away, and must be in memory of its own. */
export async function finishInThread(
  threads: ThreadPool,
  { source, signing }: UnfinishedSource,
  owner: string,
): Promise<Buffer> {
  const finished = await threads.run<UnfinishedSource, FinishedSource>(FINISHING, {
    input: { source, signing },
    owner,
    bytes: source.length,
    transfer: [source.buffer as ArrayBuffer],
  })
  const { hasBareLineBreak, content } = finished
  const final = asBuffer(finished.source)
  rememberWireForm(final, { content: content ? asBuffer(content) : final, hasBareLineBreak })
  return final
}
