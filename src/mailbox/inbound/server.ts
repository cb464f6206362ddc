// The MX port: mail from anybody, without a login, for inboxes and for the addresses that reports come to. Everything else
// is refused at RCPT. 250 means that the mail is durable, and that what a report changes is committed.
import { prependLines } from '../../mail/mime/headers.ts'
import { MimeReader } from './mime-reader.ts'
import type { RefusedReason } from '../../mail/mime/parsed-mail.ts'
import type { ReadReport } from '../../mail/reports/read-report.ts'
import type { Admission, ReceivedMail, SmtpClient, SmtpLimits } from '../../smtp/server/door.ts'
import { SmtpListener } from '../../smtp/server/listener.ts'
import { isLoopback } from '../../platform/net/address-guard.ts'
import type { TlsIdentity } from '../../platform/tls.ts'
import type { World } from '../../platform/world.ts'
import { replyFor } from '../../sending/submission/reply.ts'
import { ArrivalLimit } from './arrival-limit.ts'
import type { Arrivals } from './arrivals.ts'
import { ConnectionCounts } from './connection-counts.ts'
import {
  Recipients,
  refusalFor,
  refusalOf,
  type InboxRecipient,
  type Recognised,
  type ReportRecipient,
} from './recognise.ts'
import type { RoleMail } from '../postmaster/take.ts'
import { takeReport } from './take-report.ts'
import { withTrace } from './trace.ts'

export interface MxOptions {
  world: World
  tls: TlsIdentity
  arrivals: Arrivals
  /** Takes what comes to postmaster@ and abuse@ and is no report. */
  postmaster: { take(mail: RoleMail): Promise<void> }
  limits?: Partial<SmtpLimits>
  /** Messages and unknown recipients that one address may bring in a minute. */
  arrivalsPerMinute?: number
  reader?: MimeReader
}

/** As much as may be sent: 25 MB of attachments and their encoding. */
const MAIL_BYTES_MAX = 40 * 1024 * 1024
/** A report holds at most the message it is about, and most receivers cut that short. */
const REPORT_BYTES_MAX = 10 * 1024 * 1024
const RECIPIENTS_MAX = 100 // RFC 5321 §4.5.3.1.8 asks for no less
const TAKEN = '250 2.0.0 Thank you'
const TOO_LARGE_REPORT = '552 5.3.4 The message is larger than a report may be'
/** What the log says of a mail to many. */
const LOGGED_MAX = 5

export class MxServer {
  readonly #options: MxOptions
  readonly #world: World
  readonly #listener: SmtpListener<never, Recognised>
  readonly #reader: MimeReader
  readonly #recipients: Recipients
  readonly #rate: ArrivalLimit
  readonly #counts: ConnectionCounts

  constructor(options: MxOptions) {
    const { world, tls, limits } = options
    const perMinute = options.arrivalsPerMinute ?? world.config.MX_RATE_PER_MINUTE
    this.#options = options
    this.#world = world
    this.#reader = options.reader ?? new MimeReader(world.threads)
    this.#recipients = new Recipients(world)
    this.#rate = new ArrivalLimit({ clock: world.clock, perMinute, db: world.db })
    this.#counts = new ConnectionCounts(world, () => this.#listener.connectionsByNetwork())
    this.#listener = new SmtpListener<never, Recognised>(
      {
        host: world.config.MX_HOST,
        sizeMax: MAIL_BYTES_MAX,
        recipientsMax: RECIPIENTS_MAX,
        tls,
        authenticate: null,
        trustsClearText: isLoopback,
        elsewhere: network => this.#counts.elsewhere(network),
        mayBegin: ({ ip }) => (this.#rate.admits(ip) ? null : '450 4.7.1 Too much from this address; try later'),
        admit: (path, client) => this.#admit(path, client),
        receive: mail => this.#receive(mail),
        onFault: (err, { id, ip }) => world.log.error({ err, session: id, ip }, 'taking in a message failed'),
      },
      limits,
    )
  }

  /** Answers with the port. */
  listen(): Promise<number> {
    const { MX_PORT, HOST } = this.#world.config
    this.#counts.start()
    return this.#listener.listen({ port: MX_PORT, host: HOST })
  }

  close(): Promise<void> {
    this.#counts.stop()
    return this.#listener.close()
  }

  async #admit(path: string, { ip }: SmtpClient): Promise<Admission<Recognised>> {
    try {
      const recipient = await this.#recipients.recognise(path)
      if (!recipient) {
        // Guessing costs as much as writing.
        this.#rate.admits(ip)
        return { kind: 'refused', reply: '550 5.1.1 No such recipient here' }
      }
      const reply = recipient.kind === 'inbox' ? refusalFor(recipient) : null
      return reply === null ? { kind: 'admitted', recipient } : { kind: 'refused', reply }
    } catch (error) {
      if (replyFor(error) === null) throw error
      return { kind: 'refused', reply: '451 4.3.0 Not available now; try again later' }
    }
  }

  async #receive(mail: ReceivedMail<never, Recognised>): Promise<string> {
    const source = mail.takeSource()
    const refusal = refusalOf(source)
    if (refusal !== null) return refusal
    const inboxes = mail.recipients.filter(recipient => recipient.kind === 'inbox')
    const others = mail.recipients.filter(recipient => recipient.kind !== 'inbox')
    try {
      // The report first: what it changes is the same when the sender has to come again for the rest.
      const reply = others.length > 0 ? await this.#receiveReport(mail, source, others) : TAKEN
      if (reply === TAKEN && inboxes.length > 0) await this.#receiveMail(mail, source, inboxes)
      return reply
    } catch (error) {
      const reply = replyFor(error)
      if (reply === null) throw error
      return reply
    }
  }

  async #receiveMail(mail: ReceivedMail<never, Recognised>, source: Buffer, inboxes: readonly InboxRecipient[]) {
    await this.#options.arrivals.store({ ...this.#traced(mail, source), submittedId: null, inboxes })
    const { client, from } = mail
    this.#world.log.info(
      { session: client.id, ip: client.ip, from, inboxes: inboxes.length, size: source.length },
      'mail came in',
    )
  }

  #traced({ client, from, smtputf8 }: ReceivedMail<never, Recognised>, source: Buffer): Omit<RoleMail, 'to'> {
    const { config, clock } = this.#world
    const traced = withTrace(source, { client, from, smtputf8, host: config.MX_HOST, now: clock.now() })
    return { ...traced, mailFrom: from, clientIp: client.ip, helo: client.helo }
  }

  async #receiveReport(mail: ReceivedMail<never, Recognised>, source: Buffer, recipients: readonly ReportRecipient[]) {
    const { client, from } = mail
    const roles = recipients.filter(each => each.kind === 'role')
    if (source.length > REPORT_BYTES_MAX) {
      if (mail.recipients.every(({ kind }) => kind !== 'inbox' && kind !== 'role')) return TOO_LARGE_REPORT
      await this.#giveToPostmaster(mail, source, roles)
      return TAKEN
    }
    // RFC 5321 §4.4: this is the final delivery. Bounces without a part for machines are known by it.
    const whole = prependLines(source, `Return-Path: <${from}>\r\n`)
    const read = await this.#reader.readReport(whole, { ip: client.ip, isToRole: roles.length > 0 })
    const about = { session: client.id, ip: client.ip, from }
    if (read.kind === 'refused') {
      const reply = this.#unreadable(read.reason, about)
      if (reply !== TAKEN || roles.length === 0) return reply
    } else if ((await this.#take(read, recipients, about)) > 0) return TAKEN
    await this.#giveToPostmaster(mail, source, roles)
    return TAKEN
  }

  async #giveToPostmaster(
    mail: ReceivedMail<never, Recognised>,
    source: Buffer,
    roles: readonly { address: string }[],
  ): Promise<void> {
    if (roles.length === 0) return
    await this.#options.postmaster.take({ ...this.#traced(mail, source), to: roles.map(({ address }) => address) })
  }

  /** Answers how many deliveries it is about. */
  async #take(mail: ReadReport, to: readonly ReportRecipient[], about: object): Promise<number> {
    const taken = await takeReport(this.#world, mail, to)
    const messages = to.flatMap(each => ('messageId' in each ? [each.messageId] : [])).slice(0, LOGGED_MAX)
    const isToRole = to.some(({ kind }) => kind === 'role')
    const subject = isToRole ? mail.subject : undefined
    const kinds = [...new Set(to.map(({ kind }) => kind))]
    this.#world.log.info({ ...about, to: kinds, messages, ...taken, subject }, 'a message came in')
    return taken.findings
  }

  /** Nobody can mend a report that cannot be read, so it is taken and forgotten; what is our fault may come again. */
  #unreadable(reason: RefusedReason, about: object): string {
    const isOurs = reason === 'busy' || reason === 'closed' || reason === 'crashed'
    if (isOurs) return '451 4.3.0 Busy; try again later'
    this.#world.log.info({ ...about, reason }, 'a message came in that cannot be read')
    return TAKEN
  }
}
