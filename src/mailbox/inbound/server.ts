// The MX port: mail from anybody, without a login. So far it takes reports on what we sent; everything else is
// refused at RCPT. 250 means that what the report changes is committed.
import { prependLines } from '../../mail/mime/headers.ts'
import { MimeReader } from './mime-reader.ts'
import type { RefusedReason } from '../../mail/mime/parsed-mail.ts'
import type { ReadReport } from '../../mail/reports/read-report.ts'
import {
  type Admission,
  isLoopback,
  type ReceivedMail,
  type SmtpClient,
  type SmtpLimits,
} from '../../smtp/server/door.ts'
import { SmtpListener } from '../../smtp/server/listener.ts'
import type { TlsIdentity } from '../../platform/tls.ts'
import type { World } from '../../platform/world.ts'
import { replyFor } from '../../sending/submission/reply.ts'
import { ArrivalLimit } from './arrival-limit.ts'
import { recognise, type Recognised } from './recognise.ts'
import { takeReport } from './take-report.ts'

export interface MxOptions {
  world: World
  tls: TlsIdentity
  limits?: Partial<SmtpLimits>
  /** Messages and unknown recipients that one address may bring in a minute. */
  arrivalsPerMinute?: number
  reader?: MimeReader
}

/** A report holds at most the message it is about, and most receivers cut that short. */
const REPORT_BYTES_MAX = 10 * 1024 * 1024
const RECIPIENTS_MAX = 100 // RFC 5321 §4.5.3.1.8 asks for no less
const MEMORY_BYTES_MAX = 33_554_432
/** What the log says of a mail to many. */
const LOGGED_MAX = 5
/** A large receiver's burst of bounces fits; a flood does not. */
const ARRIVALS_PER_MINUTE = 1_000

export class MxServer {
  readonly #world: World
  readonly #listener: SmtpListener<never, Recognised>
  readonly #reader: MimeReader
  readonly #arrivals: ArrivalLimit

  constructor({ world, tls, limits, arrivalsPerMinute = ARRIVALS_PER_MINUTE, reader }: MxOptions) {
    this.#world = world
    this.#reader = reader ?? new MimeReader(world.threads)
    this.#arrivals = new ArrivalLimit(world.clock, arrivalsPerMinute)
    this.#listener = new SmtpListener<never, Recognised>(
      {
        host: world.config.MX_HOST,
        sizeMax: REPORT_BYTES_MAX,
        recipientsMax: RECIPIENTS_MAX,
        tls,
        authenticate: null,
        trustsClearText: isLoopback,
        mayBegin: ({ ip }) => (this.#arrivals.admits(ip) ? null : '450 4.7.1 Too much from this address; try later'),
        admit: (path, client) => this.#admit(path, client),
        receive: mail => this.#receive(mail),
        onFault: (err, { id, ip }) => world.log.error({ err, session: id, ip }, 'taking in a message failed'),
      },
      { memoryBytesMax: MEMORY_BYTES_MAX, ...limits },
    )
  }

  get connections(): number {
    return this.#listener.connections
  }

  /** Answers with the port. */
  listen(): Promise<number> {
    const { MX_PORT, HOST } = this.#world.config
    return this.#listener.listen({ port: MX_PORT, host: HOST })
  }

  close(): Promise<void> {
    return this.#listener.close()
  }

  #admit(path: string, { ip }: SmtpClient): Admission<Recognised> {
    const recipient = recognise(this.#world, path)
    if (recipient) return { kind: 'admitted', recipient }
    // Guessing costs as much as writing.
    this.#arrivals.admits(ip)
    return { kind: 'refused', reply: '550 5.1.1 No such recipient here' }
  }

  async #receive({ client, from, recipients, takeSource }: ReceivedMail<never, Recognised>): Promise<string> {
    // RFC 5321 §4.4: this is the final delivery. Bounces without a part for machines are known by it.
    const read = await this.#reader.readReport(prependLines(takeSource(), `Return-Path: <${from}>\r\n`))
    const about = { session: client.id, ip: client.ip, from }
    if (read.kind === 'refused') return this.#unreadable(read.reason, about)
    try {
      await this.#take(read, recipients, about)
      return '250 2.0.0 Thank you'
    } catch (error) {
      const reply = replyFor(error)
      if (reply === null) throw error
      return reply
    }
  }

  async #take(mail: ReadReport, to: readonly Recognised[], about: object): Promise<void> {
    const taken = await takeReport(this.#world, mail, to)
    const messages = to.flatMap(each => ('messageId' in each ? [each.messageId] : [])).slice(0, LOGGED_MAX)
    const isToRole = to.some(({ kind }) => kind === 'role')
    const subject = isToRole ? mail.subject : undefined
    const kinds = [...new Set(to.map(({ kind }) => kind))]
    this.#world.log.info({ ...about, to: kinds, messages, ...taken, subject }, 'a message came in')
  }

  /** Nobody can mend a report that cannot be read, so it is taken and forgotten; what is our fault may come again. */
  #unreadable(reason: RefusedReason, about: object): string {
    const isOurs = reason === 'busy' || reason === 'closed' || reason === 'crashed'
    if (isOurs) return '451 4.3.0 Busy; try again later'
    this.#world.log.info({ ...about, reason }, 'a message came in that cannot be read')
    return '250 2.0.0 Thank you'
  }
}
