// Prepares large submitted messages, in a thread. It answers with the submission or with the refusal.
import { Refusal, type RefusalCode } from '../../platform/refusal.ts'
import { asBuffer, ownMemory } from '../../platform/threads/thread-pool.ts'
import type { Work } from '../../platform/threads/thread-start.ts'
import type { Submission } from '../messages/submission.ts'
import { prepareMail, type MailOrder } from './prepare-mail.ts'
import { SmtpRefusal } from './reply.ts'

export type PreparedMail =
  | { submission: Submission }
  | { refusal: { code: RefusalCode; message: string } }
  | { reply: string }

function prepare(order: MailOrder): PreparedMail {
  try {
    return { submission: prepareMail({ ...order, source: asBuffer(order.source) }) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    if (error instanceof SmtpRefusal) return { reply: error.reply }
    throw error
  }
}

export const work: Work<MailOrder, PreparedMail> = order => {
  const bytes = order.source.byteLength
  const output = prepare(order)
  return { output, transfer: 'submission' in output ? ownMemory([output.submission.source]) : [], bytes }
}
