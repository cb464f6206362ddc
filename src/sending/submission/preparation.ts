// Preparing submitted mail: small messages at once, large ones in a thread, because checking and rewriting 35 MB takes a
// good part of a second of the main thread.
import { refuse } from '../../platform/refusal.ts'
import { asBuffer, ThreadFailure, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { Submission } from '../messages/submission.ts'
import { prepareMail, type MailOrder } from './prepare-mail.ts'
import type { PreparedMail } from './prepare-thread.ts'
import { SmtpRefusal } from './reply.ts'

/** Smaller ones take a millisecond or two where they are. */
const SMALL_BYTES_MAX = 64 * 1024

const PREPARING: ThreadWork = {
  module: new URL('./prepare-thread.ts', import.meta.url),
  isAwaited: true,
  queueMax: 200,
  timeoutMs: 10_000,
}

/** The source is given away. Rejects with what `prepareMail` throws. */
export async function prepareSubmission(threads: ThreadPool, order: MailOrder): Promise<Submission> {
  if (order.source.length <= SMALL_BYTES_MAX) return prepareMail(order)
  try {
    const answer = await threads.run<MailOrder, PreparedMail>(PREPARING, {
      input: order,
      owner: order.login.accountId,
      part: order.login.tenantId,
      bytes: order.source.length,
      transfer: [order.source.buffer as ArrayBuffer],
    })
    if ('submission' in answer) return withBuffers(answer.submission)
    throw 'reply' in answer ? new SmtpRefusal(answer.reply) : refuse(answer.refusal.code, answer.refusal.message)
  } catch (error) {
    throw error instanceof ThreadFailure ? refusalOf(error) : error
  }
}

/** Between threads a Buffer becomes a plain array of bytes; its memory is already ours. */
const withBuffers = (submission: Submission): Submission => ({
  ...submission,
  source: asBuffer(submission.source),
  idempotency: submission.idempotency && {
    ...submission.idempotency,
    bodyHash: asBuffer(submission.idempotency.bodyHash),
  },
})

const refusalOf = (failure: ThreadFailure): Error =>
  // Time may be short because others take it, so a time-out is worth another try.
  failure.reason === 'out_of_memory'
    ? new SmtpRefusal('550 5.6.0 The message takes too much to read')
    : refuse('unavailable', 'Too many large messages are being read. Try again shortly.', { cause: failure })
