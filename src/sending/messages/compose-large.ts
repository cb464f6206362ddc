// Composing large messages in a thread: 10 MiB of text or 25 MB of files take a fifth of a second.
import assert from 'node:assert/strict'
import type { Attachment } from '../../mail/mime/attachment.ts'
import type { OutgoingMessage } from '../../mail/mime/compose.ts'
import { refuse } from '../../platform/refusal.ts'
import {
  asBuffer,
  ownMemory,
  ThreadFailure,
  type ThreadPool,
  type ThreadWork,
} from '../../platform/threads/thread-pool.ts'
import { invalid } from './check-texts.ts'
import type { ComposedSource } from './compose-thread.ts'

const COMPOSING: ThreadWork = {
  module: new URL('./compose-thread.ts', import.meta.url),
  isAwaited: true,
  queueMax: 200,
  timeoutMs: 10_000,
}

/**
 * The contents of the files travel to the thread and back without a copy: they stand in the same attachments afterwards, in
 * the same memory, which nobody else may use meanwhile.
 */
export async function composeInThread(
  threads: ThreadPool,
  message: OutgoingMessage,
  { owner, bytes }: { owner: string; bytes: number },
): Promise<Buffer> {
  for (const attachment of message.attachments) attachment.content = inOwnMemory(attachment)
  try {
    const { source, contents } = await threads.run<OutgoingMessage, ComposedSource>(COMPOSING, {
      input: message,
      owner,
      bytes,
      transfer: ownMemory(message.attachments.map(({ content }) => content)),
    })
    for (const [index, attachment] of message.attachments.entries()) attachment.content = asBuffer(contents[index]!)
    return asBuffer(source)
  } catch (error) {
    if (!(error instanceof ThreadFailure)) throw error
    if (error.reason === 'out_of_memory') throw invalid('The message takes too much to compose.')
    const tooMany = 'Too many large messages are being composed. Try again shortly.'
    throw refuse('unavailable', tooMany, { retryAfterSeconds: 5, cause: error })
  }
}

/** What is small, or a part of something else, lies in memory that cannot be given away; all of it would be copied. */
function inOwnMemory({ content }: Attachment): Buffer {
  assert(!(content.buffer as ArrayBuffer).detached, 'a file that was lost with a thread would be sent empty')
  if (content.length === content.buffer.byteLength) return content
  const own = Buffer.allocUnsafeSlow(content.length)
  content.copy(own)
  return own
}
