// The thread in which large submitted messages are prepared. It answers with the submission or with the refusal.
import { parentPort } from 'node:worker_threads'
import { Refusal, type RefusalCode } from '../../platform/refusal.ts'
import { COLLECT_BYTES_MIN, collectGarbage } from '../../platform/threads/collect-garbage.ts'
import type { Submission } from '../messages/submission.ts'
import { prepareMail, type MailOrder } from './prepare-mail.ts'
import { SmtpRefusal } from './reply.ts'

export type PreparedMail =
  | { submission: Submission }
  | { refusal: { code: RefusalCode; message: string } }
  | { reply: string }

const port = parentPort
if (!port) throw new Error('prepare-thread.ts runs as a worker thread')

function prepare(order: MailOrder): PreparedMail {
  try {
    const { buffer, byteOffset, byteLength } = order.source
    return { submission: prepareMail({ ...order, source: Buffer.from(buffer, byteOffset, byteLength) }) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    if (error instanceof SmtpRefusal) return { reply: error.reply }
    throw error
  }
}

port.on('message', (order: MailOrder) => {
  const { byteLength } = order.source
  const prepared = prepare(order)
  const isLarge = 'submission' in prepared && prepared.submission.source.buffer.byteLength > 65_536
  port.postMessage(prepared, isLarge ? [prepared.submission.source.buffer as ArrayBuffer] : [])
  if (byteLength > COLLECT_BYTES_MIN) setImmediate(collectGarbage)
})
port.postMessage('ready')
