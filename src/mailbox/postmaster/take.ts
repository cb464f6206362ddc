// Mail to postmaster@ and abuse@ that no inbox takes and that is no report of ours: forwarded to the operator's address, or
// kept in an inbox of the operator's own. Either is durable before the sender is told so.
import { createHash } from 'node:crypto'
import { lockAccountForCap } from '../../identity/accounts/cap.ts'
import { displayValue, readHeader, valueOf } from '../../mail/mime/headers.ts'
import { system } from '../../platform/db/actor.ts'
import { runAtOnce } from '../../platform/slices.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../../sending/messages/gate.ts'
import { prepareSubmission } from '../../sending/messages/prepare.ts'
import { createInboxIn } from '../inboxes/create.ts'
import { findInboxAt } from '../inboxes/find.ts'
import type { Arrivals } from '../inbound/arrivals.ts'

/** The account that the installation's own mail belongs to. */
interface OperatorAccount {
  /** What the installation's own mail comes from. */
  domain: string
  /** Made where it is not there yet. */
  sender(kind: 'live'): Promise<{ account_id: string; tenant_id: string }>
  /** Null: nothing has needed it so far. */
  known(kind: 'live'): Promise<{ account_id: string; tenant_id: string } | null>
}

export interface RoleMail {
  /** With our trace fields above it. */
  content: Buffer
  headBytes: number
  mailFrom: string
  clientIp: string
  helo: string
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

export class Postmaster {
  readonly #world: World
  readonly #parts: Parts
  readonly #by = { ...system('postmaster'), action: 'message.send' }

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

  /** False: the address has bounced, and nothing goes there any more. */
  async #forward({ content, headBytes, mailFrom, clientIp, to }: RoleMail, address: string): Promise<boolean> {
    const { account_id: accountId, tenant_id: tenantId } = await this.#parts.operator.sender('live')
    const subject = displayValue(valueOf(readHeader(content), 'subject') ?? '').slice(0, SUBJECT_CHARS_MAX)
    const body = {
      from: `Sluice <${this.#address}>`,
      to: [address],
      subject: `Mail to ${to.join(', ')}: ${subject.toWellFormed()}`.slice(0, SUBJECT_CHARS_MAX),
      text: `This came to ${to.join(', ')} from <${mailFrom}> at ${clientIp}. The message is attached as it was received.\n`,
      headers: { [MARK]: 'forwarded', 'Auto-Submitted': 'auto-generated' },
    }
    const file = { filename: 'message.eml', contentType: 'message/rfc822', contentId: null, inline: false, content }
    // A sender that missed our 250 comes again.
    const idempotencyKey = `postmaster-${createHash('sha256').update(content.subarray(headBytes)).digest('hex').slice(0, 40)}`
    const submission = runAtOnce(
      prepareSubmission({
        body,
        accountId,
        tenantId,
        apiKeyId: null,
        idempotencyKey,
        now: this.#world.clock.now(),
        by: this.#by,
        publicUrl: '',
        files: [file],
      }),
    )
    return (await this.#parts.gate.submit(submission)).suppressed === 0
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
