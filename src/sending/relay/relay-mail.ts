// One message to its provider: the way out is asked for, a token that is refused is replaced once, and a provider that
// throttles is left alone, by all mail of that mailbox and not by that of others.
import type { Clock } from '../../platform/clock.ts'
import { remember } from '../../platform/remember.ts'
import { formatReply } from '../../mail/reports/smtp-reply.ts'
import { TOKEN_REFUSED, type Envelope, type SendResult } from '../../smtp/client/outcome.ts'
import type { Relay } from '../../smtp/client/transport.ts'
import type { Cancelled, Relays } from './relays.ts'

/** How long the mail of a mailbox waits after its provider throttled: doubled each time, until something is taken. */
const BACKOFF_MS_MIN = 60_000
const BACKOFF_MS_MAX = 900_000
/** Mailboxes that are remembered. One that is forgotten is tried once too often. */
const MAILBOXES_MAX = 10_000

interface RelayTransport {
  sendThrough(relay: Relay, envelope: Envelope, signal?: AbortSignal): Promise<SendResult[]>
}

interface RelayedMail {
  inboxId: string
  sender: string
  envelope: Envelope
  signal: AbortSignal
}

export class RelayMail {
  readonly #relays: Relays
  readonly #transport: RelayTransport
  readonly #clock: Clock
  readonly #backoffs = new Map<string, { until: number; delayMs: number }>()

  constructor(relays: Relays, transport: RelayTransport, clock: Clock) {
    this.#relays = relays
    this.#transport = transport
    this.#clock = clock
  }

  /** How long mail of the mailbox has to wait; null: not at all. */
  deferMs(inboxId: string): number | null {
    const left = (this.#backoffs.get(inboxId)?.until ?? 0) - this.#clock.now().getTime()
    return left > 0 ? left : null
  }

  /** One result per recipient, in their order. */
  async send(mail: RelayedMail): Promise<(SendResult | Cancelled)[]> {
    const results = await this.#sendOnce(mail, { isAgain: false })
    this.#learn(mail.inboxId, results)
    return results.map(result => (result.kind === 'refused' ? withoutQuota(result) : result))
  }

  async #sendOnce(mail: RelayedMail, { isAgain }: { isAgain: boolean }): Promise<(SendResult | Cancelled)[]> {
    const { inboxId, sender, envelope, signal } = mail
    const way = await this.#relays.wayOut(inboxId, sender)
    if (way.kind !== 'open') return envelope.recipients.map(() => unsent(way))
    const results = await this.#transport.sendThrough(way.relay, envelope, signal)
    if (!results.every(isTokenRefused)) return results
    await this.#relays.refused(inboxId, way.relay.accessToken)
    return isAgain ? results : this.#sendOnce(mail, { isAgain: true })
  }

  #learn(inboxId: string, results: readonly (SendResult | Cancelled)[]): void {
    if (results.some(isThrottled)) {
      const delayMs = Math.min(BACKOFF_MS_MAX, (this.#backoffs.get(inboxId)?.delayMs ?? BACKOFF_MS_MIN / 2) * 2)
      remember(this.#backoffs, inboxId, { until: this.#clock.now().getTime() + delayMs, delayMs }, MAILBOXES_MAX)
    } else if (results.some(({ kind }) => kind === 'delivered')) this.#backoffs.delete(inboxId)
  }
}

const unsent = ({ kind, reason }: { kind: 'closed' | 'ended'; reason: string }): SendResult | Cancelled =>
  kind === 'ended'
    ? { kind: 'cancelled', reason }
    : { kind: 'fault', phase: 'auth', reason, host: null, isPermanent: false }

const isTokenRefused = (result: SendResult): boolean => result.kind === 'fault' && result.code === TOKEN_REFUSED

/** Said of the mailbox and not of a recipient: too many connections, logins or messages for now. */
function isThrottled(result: SendResult | Cancelled): boolean {
  if (result.kind === 'fault') return result.phase === 'auth' && result.host !== null
  if (result.kind !== 'refused') return false
  const { code, enhanced } = result.reply
  if (code === 421 || isOverQuota(result)) return true
  return code < 500 && (result.phase !== 'rcpt' || (enhanced ?? '').startsWith('4.7.'))
}

type Refused = SendResult & { kind: 'refused' }

/** A daily limit of the mailbox, which Google tells as if it were final (550 5.4.5). */
const isOverQuota = ({ reply }: Refused): boolean => reply.code >= 500 && reply.enhanced === '5.4.5'

/** Tomorrow the limit is free again, and the mail waits for that long. */
const withoutQuota = (result: Refused): SendResult =>
  isOverQuota(result)
    ? { kind: 'fault', phase: result.phase, reason: formatReply(result.reply), host: result.host, isPermanent: false }
    : result
