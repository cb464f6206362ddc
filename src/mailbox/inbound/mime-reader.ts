// Reads received messages in threads, so that hostile mail costs a thread and never the service. What a report says is found
// out there too, because its words are held against hundreds of patterns.
import { MIME_LIMITS, type Refused, type RefusedReason } from '../../mail/mime/parsed-mail.ts'
import type { ReadReport } from '../../mail/reports/read-report.ts'
import { siteOf } from '../../platform/net/cidr.ts'
import { asBuffer, ThreadFailure, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { MimeAnswer, MimeOrder, ReadMessage } from './mime-thread.ts'

const PARSING: ThreadWork = {
  module: new URL('./mime-thread.ts', import.meta.url),
  queueMax: 64,
  timeoutMs: 5_000,
}

/** Who brought a report. */
interface ReportSender {
  ip: string
  /** It came to an address that every mail host has, and not to a return path alone. */
  isToRole: boolean
}

export class MimeReader {
  readonly #threads: ThreadPool
  readonly #work: ThreadWork

  constructor(threads: ThreadPool, limits: Partial<Pick<ThreadWork, 'queueMax' | 'timeoutMs'>> = {}) {
    this.#threads = threads
    this.#work = { ...PARSING, ...limits }
  }

  /** The message as a mailbox keeps it, or why it was refused. The source must not change until then. */
  readMessage(source: Buffer, accountId: string): Promise<ReadMessage | Refused> {
    return this.#run(source, 'message', { owner: accountId })
  }

  /**
   * What the message says about deliveries, or why it was refused. The source must not change until then. Anybody may write to
   * the addresses that every mail host has, so that mail has a share apart from reports to return paths, which we handed out.
   */
  readReport(source: Buffer, { ip, isToRole }: ReportSender): Promise<ReadReport | Refused> {
    return this.#run(source, 'report', { owner: isToRole ? 'role-mail' : 'reports', part: siteOf(ip) })
  }

  async #run<Wanted extends MimeOrder['wanted']>(
    source: Buffer,
    wanted: Wanted,
    /** Whose threads it takes. */
    share: { owner: string; part?: string },
  ): Promise<MimeAnswer<Wanted>> {
    if (source.length > MIME_LIMITS.sourceBytesMax) return refused('too_large')
    // The thread gets a copy of its own: the source may be a slice of memory that others use.
    const copy = new Uint8Array(source)
    const input: MimeOrder = { source: copy, wanted }
    try {
      const job = { input, ...share, bytes: source.length, transfer: [copy.buffer] }
      const answer = await this.#threads.run<MimeOrder, MimeAnswer<Wanted>>(this.#work, job)
      if (answer.kind === 'message') {
        for (const each of answer.mail.attachments) each.content = asBuffer(each.content)
      }
      return answer
    } catch (error) {
      if (!(error instanceof ThreadFailure)) throw error
      return refused(error.reason === 'out_of_memory' ? 'too_large' : error.reason)
    }
  }
}

const refused = (reason: RefusedReason): Refused => ({ kind: 'refused', reason })
