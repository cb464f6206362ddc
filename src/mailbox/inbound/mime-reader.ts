// Reads received messages in threads, so that hostile mail costs a thread and never the service. What a report says is found
// out there too, because its words are held against hundreds of patterns.
import { MIME_LIMITS } from '../../mail/mime/parse.ts'
import type { ParsedMail, Refused, RefusedReason } from '../../mail/mime/parsed-mail.ts'
import type { ReadReport } from '../../mail/reports/read-report.ts'
import { asBuffer, ThreadFailure, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { MimeAnswer, MimeOrder } from './mime-thread.ts'

const PARSING: ThreadWork = {
  module: new URL('./mime-thread.ts', import.meta.url),
  queueMax: 64,
  timeoutMs: 5_000,
}

export class MimeReader {
  readonly #threads: ThreadPool
  readonly #work: ThreadWork

  constructor(threads: ThreadPool, limits: Partial<Pick<ThreadWork, 'queueMax' | 'timeoutMs'>> = {}) {
    this.#threads = threads
    this.#work = { ...PARSING, ...limits }
  }

  /** The message, or why it was refused. The source must not change until then. */
  read(source: Buffer): Promise<ParsedMail | Refused> {
    return this.#run(source, 'mail') as Promise<ParsedMail | Refused>
  }

  /** What the message says about deliveries, or why it was refused. The source must not change until then. */
  readReport(source: Buffer): Promise<ReadReport | Refused> {
    return this.#run(source, 'report') as Promise<ReadReport | Refused>
  }

  async #run(source: Buffer, wanted: MimeOrder['wanted']): Promise<MimeAnswer> {
    if (source.length > MIME_LIMITS.sourceBytesMax) return refused('too_large')
    // A copy of its own is handed over: the source may be a slice of memory that others use.
    const copy = new Uint8Array(source)
    const input: MimeOrder = { source: copy, wanted }
    try {
      const job = { input, owner: 'inbound', transfer: [copy.buffer] }
      const answer = await this.#threads.run<MimeOrder, MimeAnswer>(this.#work, job)
      return answer.kind === 'mail' ? withBuffers(answer) : answer
    } catch (error) {
      if (!(error instanceof ThreadFailure)) throw error
      return refused(error.reason === 'out_of_memory' ? 'too_large' : error.reason)
    }
  }
}

const refused = (reason: RefusedReason): Refused => ({ kind: 'refused', reason })

function withBuffers(mail: ParsedMail): ParsedMail {
  for (const attachment of mail.attachments) attachment.content = asBuffer(attachment.content)
  return mail
}
