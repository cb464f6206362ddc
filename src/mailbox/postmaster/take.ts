// Mail to postmaster@ and abuse@ that no inbox takes and that is no report of ours: forwarded to the operator's address, or
// kept in an inbox of the operator's own. Either is durable before the sender is told so. What is too large to forward is kept,
// and the operator's address is told of it.
import { createHash } from 'node:crypto'
import { lockAccountForCap } from '../../identity/accounts/cap.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { displayValue, readHeader, valueOf } from '../../mail/mime/headers.ts'
import { system } from '../../platform/db/actor.ts'
import { atOnce } from '../../platform/fairness/at-once.ts'
import { siteOf } from '../../platform/net/cidr.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../../sending/messages/gate.ts'
import { ATTACHMENT_BYTES_MAX, SMALL_BYTES_MAX } from '../../sending/messages/limits.ts'
import { prepareLarge, prepareSmall, type Prepared } from '../../sending/messages/prepare.ts'
import { createInboxIn } from '../inboxes/create.ts'
import { findInboxAt } from '../inboxes/find.ts'
import type { Arrivals, BroughtMail } from '../inbound/arrivals.ts'

/** The account that the installation's own mail belongs to. */
interface OperatorAccount {
  /** What the installation's own mail comes from. */
  domain: string
  /** Made where it is not there yet. */
  sender(kind: 'live'): Promise<{ account_id: string; tenant_id: string }>
  /** Null: nothing has needed it so far. */
  known(kind: 'live'): Promise<{ account_id: string; tenant_id: string } | null>
}

export interface RoleMail extends BroughtMail {
  /** The addresses that it came to. */
  to: readonly string[]
}

interface Parts {
  gate: Gate
  arrivals: Arrivals
  operator: OperatorAccount
}

/** What was forwarded and came back to one of these addresses is kept: it would go round for ever. */
const MARK = 'X-Sluice-Postmaster'
const SUBJECT_CHARS_MAX = 200
/** Each costs several times its size between its preparation and its commit. Owners are the networks that send them. */
const LARGE_AT_ONCE = { permits: 2, perOwner: 1, refusal: 'Too much large mail waits to be forwarded.' }

export class Postmaster {
  readonly #world: World
  readonly #parts: Parts
  readonly #by = { ...system('postmaster'), action: 'message.send' }
  readonly #largeAtOnce = atOnce(LARGE_AT_ONCE)

  constructor(world: World, parts: Parts) {
    this.#world = world
    this.#parts = parts
  }

  async take(mail: RoleMail): Promise<void> {
    const to = this.#world.config.POSTMASTER_ADDRESS
    const wasForwarded = valueOf(readHeader(mail.content), MARK.toLowerCase()) !== null
    if (to !== null && !wasForwarded && (await this.#forward(mail, to))) return
    const { account_id: accountId } = await this.#parts.operator.sender('live')
    const { to: _, ...arriving } = mail
    await this.#parts.arrivals.store({
      ...arriving,
      submittedId: null,
      inboxes: [{ inboxId: await this.#provideInbox(), accountId }],
    })
  }

  /** Null while nothing was ever kept. */
  async findInbox(): Promise<{ id: string; accountId: string } | null> {
    const { operator } = this.#parts
    const account = await operator.known('live')
    const reach = account && { accountId: account.account_id, tenantId: null, inboxId: null }
    const inbox = reach && (await findInboxAt(this.#world.db, reach, this.#address))
    return inbox && { id: inbox.id, accountId: account.account_id }
  }

  get #address(): string {
    return `postmaster@${this.#parts.operator.domain}`
  }

  /** False: it is to be kept. It is too large to forward, or the address has bounced and nothing goes there any more. */
  async #forward(mail: RoleMail, address: string): Promise<boolean> {
    const site = siteOf(mail.clientIp)
    const isLarge = mail.content.length > SMALL_BYTES_MAX
    const { account_id: accountId, tenant_id: tenantId } = await this.#parts.operator.sender('live')
    const forwarding = { address, accountId, tenantId, isLarge, site }
    const submit = async (): Promise<boolean> => {
      const { submission } = await this.#prepare(mail, forwarding)
      return (await this.#parts.gate.submit(submission)).suppressed === 0
    }
    const isSent = isLarge ? await this.#largeAtOnce(site, submit) : await submit()
    return isSent && !isTooLarge(mail)
  }

  async #prepare(mail: RoleMail, { address, isLarge, site, ...whose }: Forwarding): Promise<Prepared> {
    const { content, headBytes, mailFrom, clientIp, to } = mail
    const subject = displayValue(valueOf(readHeader(content), 'subject') ?? '').slice(0, SUBJECT_CHARS_MAX)
    const where = isTooLarge(mail)
      ? 'It is too large to be forwarded, and kept: GET /admin/v1/postmaster lists it.'
      : 'The message is attached as it was received.'
    const body = {
      from: `Sluice <${this.#address}>`,
      to: [address],
      subject: `Mail to ${to.join(', ')}: ${subject.toWellFormed()}`.slice(0, SUBJECT_CHARS_MAX),
      text: `This came to ${to.join(', ')} from <${mailFrom}> at ${clientIp}. ${where}\n`,
      headers: { [MARK]: 'forwarded', 'Auto-Submitted': 'auto-generated' },
    }
    const digest = await this.#world.slices.run(digestOf(content.subarray(headBytes)), [site])
    const order = {
      body,
      ...whose,
      apiKeyId: null,
      // A sender that missed our 250 comes again, perhaps from another of its hosts: what it sent is all that must be the same.
      idempotencyKey: `postmaster-${digest}`,
      sameAs: {},
      now: this.#world.clock.now(),
      by: this.#by,
      publicUrl: '',
      files: isTooLarge(mail) ? [] : [fileOf(content, isLarge)],
    }
    return isLarge ? prepareLarge(this.#world, order, [site]) : prepareSmall(order)
  }

  async #provideInbox(): Promise<string> {
    const known = await this.findInbox()
    if (known) return known.id
    const { account_id: accountId, tenant_id: tenantId } = await this.#parts.operator.sender('live')
    const reach = { accountId, tenantId: null, inboxId: null }
    const address = this.#address
    return this.#world.db.transact(system('postmaster'), async tx => {
      await lockAccountForCap(tx, accountId)
      const first = await findInboxAt(tx, reach, address)
      if (first) return first.id
      const wanted = { accountId, tenantId, domainId: null, address, displayName: 'Postmaster' }
      return (await createInboxIn(tx, wanted)).id
    })
  }
}

interface Forwarding {
  address: string
  accountId: string
  tenantId: string
  /** The network that it came from. */
  site: string
  isLarge: boolean
}

/** A copy of what is composed in a thread: the mail itself may have to be kept. */
const fileOf = (content: Buffer, isLarge: boolean): Attachment => ({
  filename: 'message.eml',
  contentType: 'message/rfc822',
  contentId: null,
  inline: false,
  content: isLarge ? Buffer.from(content) : content,
})

const isTooLarge = ({ content }: RoleMail): boolean => content.length > ATTACHMENT_BYTES_MAX

/** About a millisecond. */
const DIGEST_SLICE_BYTES = 1024 * 1024

function* digestOf(bytes: Buffer): Generator<void, string> {
  const hash = createHash('sha256')
  for (let start = 0; start < bytes.length; start += DIGEST_SLICE_BYTES) {
    if (start > 0) yield
    hash.update(bytes.subarray(start, start + DIGEST_SLICE_BYTES))
  }
  return hash.digest('hex').slice(0, 40)
}
