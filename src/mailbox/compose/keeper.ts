// Composed mail at the gate. The mailbox is locked before anything is decided; then its status, its policy and its hourly
// cap are asked once more, exactly; then the mail is filed in the transaction that accepts it, or that holds it for approval.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type {
  Companion,
  CompanionKeeper,
  LockedCompanions,
  StoredCompanion,
  Submission,
} from '../../sending/messages/submission.ts'
import type { SendResponse } from '../../sending/messages/send-schema.ts'
import { addCorrespondents, type Written } from '../shield/correspondents.ts'
import { lockFreeInboxes, lockInboxes, type LockedInbox } from '../inboxes/lock.ts'
import {
  admitApproval,
  countPending,
  loadApprovals,
  PENDING_MAX,
  storeApproved,
  type ApprovalCompanion,
  type PendingApproval,
  alreadyDecided,
  tooManyPending,
} from '../approvals/companion.ts'
import type { Composed } from './compose-schema.ts'
import { addToSendCounts, listSendCounts } from './count-queries.ts'
import { fileMails, findDestinations, type Destinations } from './file.ts'
import type { ComposedMail } from './mail.ts'
import { listThreadTaints } from './original-queries.ts'
import { joinsTainted } from './taint.ts'
import { asksMore, reasonsToHold, recipientRefusal, type InspectedFor, type Reason } from './policy-reasons.ts'

/** Rows of another feature that change in the same transaction, such as the draft that is sent. */
export interface Alongside {
  /** What they are: of several mails with one key the first that is admitted goes. */
  key: string
  /** Locks them, and says why the mail may not go. */
  check(tx: Tx): Promise<Error | null>
  store(tx: Tx): Promise<void>
}

export interface MailCompanion extends Companion {
  kind: 'mail'
  mail: ComposedMail
  /** What it was inspected for. */
  inspectedFor: InspectedFor
  requestedBy: { type: string; id: string | null; name: string }
  by: Actor
  alongside: Alongside | null
  /** Written by the transaction that stores it. */
  result: Composed | null
}

type AnyCompanion = MailCompanion | ApprovalCompanion

/**
 * The policy asks for what the mail was not inspected for: it was changed meanwhile, or the thread that the mail is about to
 * join became tainted. The mail is prepared anew.
 */
export class PolicyChanged extends Error {
  constructor() {
    super('the policy of the inbox was changed while the mail was inspected')
    this.name = 'PolicyChanged'
  }
}

export interface Filed {
  companion: MailCompanion
  inbox: LockedInbox
  response: SendResponse
  /** Set: it waits for this approval. */
  approvalId: string | null
  reasons: readonly Reason[]
}

export const mailboxKeeper: CompanionKeeper = {
  lock: async (tx, companions, { waits }) => {
    const own = companions as readonly AnyCompanion[]
    const ids = [...new Set(own.map(({ lockKey }) => lockKey))].toSorted()
    const mails = own.filter(each => each.kind === 'mail')
    const [inboxes, destinations] = await Promise.all([
      waits ? lockInboxes(tx, ids) : lockFreeInboxes(tx, ids),
      mails.length > 0 ? findDestinations(tx, mails) : null,
    ])
    const locked = new LockedMailboxes(tx, inboxes, { destinations, waits })
    await locked.load(own)
    return locked
  },
}

class LockedMailboxes implements LockedCompanions {
  readonly #tx: Tx
  readonly #waits: boolean
  readonly #inboxes: ReadonlyMap<string, LockedInbox>
  /** Null where no mail is to be filed. */
  readonly #destinations: Destinations | null
  readonly #sent = new Map<string, number>()
  readonly #newlySent = new Map<string, number>()
  /** Approvals that each inbox waits for, where a mail of the batch may become another. */
  #pending = new Map<string, number>()
  readonly #obstacles = new Map<AnyCompanion, Error>()
  readonly #admitted = new Set<string>()
  readonly #reasons = new Map<AnyCompanion, readonly Reason[]>()
  /** Of the threads that mails of the batch continue, where that matters. */
  #taints: ReadonlyMap<string, boolean> = new Map()
  #approvals: ReadonlyMap<string, PendingApproval> = new Map()

  constructor(tx: Tx, inboxes: readonly LockedInbox[], found: { destinations: Destinations | null; waits: boolean }) {
    this.#tx = tx
    this.#destinations = found.destinations
    this.#waits = found.waits
    this.#inboxes = new Map(inboxes.map(inbox => [inbox.id, inbox]))
  }

  async load(companions: readonly AnyCompanion[]): Promise<void> {
    const capped = [...this.#inboxes.values()].filter(({ policy }) => policy.max_send_per_hour !== null)
    if (capped.length > 0) {
      const ids = capped.map(({ id }) => id)
      for (const { inbox_id, count } of await listSendCounts(this.#tx, ids, hourOf(this.#tx)))
        this.#sent.set(inbox_id, count)
    }
    const reachable = companions.filter(({ lockKey }) => this.#inboxes.has(lockKey))
    const approvalIds = reachable.flatMap(each => (each.kind === 'approval' ? each.approvalId : []))
    this.#approvals = await loadApprovals(this.#tx, approvalIds)
    this.#taints = await this.#loadTaints(reachable)
    await this.#loadPending(reachable)
    // Issued together: the connection is pipelined, and a batch of drafts would otherwise wait for each of them.
    await Promise.all(
      reachable.map(async companion => {
        const obstacle = companion.kind === 'mail' ? await this.#obstacleOf(companion) : null
        if (obstacle) this.#obstacles.set(companion, obstacle)
      }),
    )
  }

  async #obstacleOf(companion: MailCompanion): Promise<Error | null> {
    const { lockKey, mail, alongside } = companion
    const { policy } = this.#inboxes.get(lockKey)!
    const threadId = continuedBy(mail)
    // It went with its last message, and what it was with it: the mail is prepared as one whose original was deleted.
    if (policy.require_approval_on_taint && threadId !== null && !this.#taints.has(threadId)) return new PolicyChanged()
    const isAsked = policy.require_approval_on_taint && mail.original === null && !mail.inspected.repeatsTainted
    const [obstacle, isJoining] = await Promise.all([
      alongside?.check(this.#tx) ?? null,
      isAsked && joinsTainted(this.#tx, { inboxId: lockKey, ...mail }),
    ])
    return obstacle ?? (isJoining ? new PolicyChanged() : null)
  }

  /** A thread may have become one that is not to be trusted since the mail was written. */
  async #loadTaints(companions: readonly AnyCompanion[]): Promise<ReadonlyMap<string, boolean>> {
    const threadIds = companions.flatMap(companion =>
      companion.kind === 'mail' && this.#inboxes.get(companion.lockKey)!.policy.require_approval_on_taint
        ? (continuedBy(companion.mail) ?? [])
        : [],
    )
    if (threadIds.length === 0) return new Map()
    return new Map((await listThreadTaints(this.#tx, threadIds)).map(({ id, is_tainted }) => [id, is_tainted]))
  }

  async #loadPending(companions: readonly AnyCompanion[]): Promise<void> {
    const held = companions.filter(companion => {
      const inbox = this.#inboxes.get(companion.lockKey)!
      const isCapped = inbox.policy.max_send_per_hour !== null
      return companion.kind === 'mail' && (isCapped || this.#contentReasons(companion, inbox).length > 0)
    })
    if (held.length === 0) return
    const inboxIds = [...new Set(held.map(({ lockKey }) => lockKey))]
    this.#pending = await countPending(this.#tx, inboxIds)
  }

  /** An inbox that was waited for and is not there was deleted. */
  isLocked({ lockKey }: Companion): boolean {
    return this.#waits || this.#inboxes.has(lockKey)
  }

  admit(given: Companion): ReturnType<LockedCompanions['admit']> {
    const companion = given as AnyCompanion
    const inbox = this.#inboxes.get(companion.lockKey)
    const refusal = inbox ? this.#refusalOf(companion, inbox) : notFound('inbox')
    if (refusal) return { kind: 'refuse', refusal }
    const key = keyOf(companion)
    if (key !== null) this.#admitted.add(key)
    if (companion.kind === 'mail') {
      const reasons = [...this.#contentReasons(companion, inbox!), ...this.#capReason(inbox!)]
      if (reasons.length > 0) {
        const pending = this.#pending.get(inbox!.id) ?? 0
        if (pending >= PENDING_MAX) return { kind: 'refuse', refusal: tooManyPending() }
        this.#pending.set(inbox!.id, pending + 1)
        this.#reasons.set(companion, reasons)
        return { kind: 'keep', id: companion.mail.id }
      }
    }
    this.#sent.set(inbox!.id, this.#sentOf(inbox!) + 1)
    this.#newlySent.set(inbox!.id, (this.#newlySent.get(inbox!.id) ?? 0) + 1)
    return { kind: 'send' }
  }

  async store(tx: Tx, stored: readonly StoredCompanion[]): Promise<void> {
    const filed: Filed[] = []
    const written: Written[] = []
    for (const { companion: given, response, isKept } of stored) {
      const companion = given as AnyCompanion
      const inbox = this.#inboxes.get(companion.lockKey)!
      if (!isKept) written.push(writtenTo(companion))
      if (companion.kind === 'approval') {
        const approval = this.#approvals.get(companion.approvalId)!
        await storeApproved(tx, companion, { inbox, response, approval })
      } else {
        const approvalId = isKept ? newId(tx.now) : null
        filed.push({ companion, inbox, response, approvalId, reasons: this.#reasons.get(companion) ?? [] })
      }
    }
    if (filed.length > 0) await fileMails(tx, filed, this.#destinations!)
    addCorrespondents(tx, written)
    await Promise.all(filed.map(async ({ companion }) => companion.alongside?.store(tx)))
    // Without a cap as well: one that is set within the hour counts what was sent before.
    const counts = [...this.#newlySent].map(([inboxId, count]) => ({ inboxId, count }))
    if (counts.length > 0) addToSendCounts(tx, counts, hourOf(tx))
  }

  #refusalOf(companion: AnyCompanion, inbox: LockedInbox): Error | null {
    if (inbox.status === 'paused') return inboxPaused()
    const obstacle = this.#obstacles.get(companion)
    if (obstacle) return obstacle
    const key = keyOf(companion)
    if (key !== null && this.#admitted.has(key)) return sentByAnother(companion)
    if (hasLostMailbox(companion, inbox)) return disconnected()
    if (companion.kind === 'approval') return admitApproval(companion, this.#approvals, { inbox, now: this.#tx.now })
    if (asksMore(inbox.policy, companion.inspectedFor)) return new PolicyChanged()
    return recipientRefusal(inbox.policy, companion.mail.submission.recipients)
  }

  /** By the policy as it is now. */
  #contentReasons({ mail }: MailCompanion, { policy }: LockedInbox): Reason[] {
    const isTainted = mail.continuesTainted || (this.#taints.get(continuedBy(mail) ?? '') ?? false)
    return reasonsToHold(policy, { isTainted, inspected: mail.inspected })
  }

  #sentOf({ id }: LockedInbox): number {
    return this.#sent.get(id) ?? 0
  }

  #capReason(inbox: LockedInbox): Reason[] {
    const max = inbox.policy.max_send_per_hour
    if (max === null || this.#sentOf(inbox) < max) return []
    return [{ kind: 'rate', detail: `The inbox may send ${max} mails an hour, and has sent them.` }]
  }
}

const continuedBy = ({ original, thread }: ComposedMail): string | null => original?.threadId ?? thread?.id ?? null

/** What may be sent once: a draft, or an approved mail. Two requests for it may share a transaction. */
const keyOf = (companion: AnyCompanion): string | null =>
  companion.kind === 'approval' ? companion.approvalId : (companion.alongside?.key ?? null)

const sentByAnother = ({ kind }: AnyCompanion): Error =>
  kind === 'approval' ? alreadyDecided('approved') : refuse('conflict', 'It is being sent by another request.')

/** What is relayed goes by the mailbox that it was written from, and not by another one since. */
function hasLostMailbox(companion: AnyCompanion, { provider, ownAddresses }: LockedInbox): boolean {
  const { relayInboxId = null, sender } = envelopeOf(companion)
  return relayInboxId !== null && (provider === 'native' || !ownAddresses.includes(sender.toLowerCase()))
}

/** It is written from an address that the inbox no longer has. */
const disconnected = () =>
  refuse('conflict', 'The mailbox that this mail was written from was disconnected. Write it anew.')

export const inboxPaused = () =>
  refuse('inbox_paused', 'This inbox is paused and sends nothing. Set its status to active.')

const hourOf = ({ now }: Tx): Date => new Date(Math.floor(now.getTime() / 3_600_000) * 3_600_000)

/** Mail that a person approved makes correspondents as any other does. */
const writtenTo = (companion: AnyCompanion): Written => ({
  inboxId: companion.lockKey,
  domains: envelopeOf(companion).recipients.map(({ domain }) => domain),
})

const envelopeOf = (companion: AnyCompanion): Pick<Submission, 'sender' | 'recipients' | 'relayInboxId'> =>
  companion.kind === 'approval' ? companion.envelope : companion.mail.submission
