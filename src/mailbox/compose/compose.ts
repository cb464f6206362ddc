// Out of a mailbox there is one act, whatever the door: new mail, reply, forward, draft, schedule, MCP. The mail is written and
// inspected, the policy of the inbox asked, and the gate takes it with the rows of the mailbox; or it waits for an approval.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { formatAddress, parseAddress } from '../../mail/address/address.ts'
import { shownAddress } from '../../mail/address/mailbox-text.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { runAtOnce } from '../../platform/slices.ts'
import type { World } from '../../platform/world.ts'
import type { SendRequest } from '../../sending/messages/send-schema.ts'
import { tenantDisabled } from '../../sending/messages/decide.ts'
import { SMALL_BYTES_MAX } from '../../sending/messages/limits.ts'
import { prepareLarge, prepareSmall, type Prepared } from '../../sending/messages/prepare.ts'
import { bytesOf, isSmall } from '../../sending/messages/size.ts'
import { addressesOf } from '../inboxes/addresses.ts'
import type { FindInbox } from '../inboxes/look-up.ts'
import { policyOf, type Policy } from '../inboxes/policy.ts'
import type { Tainted } from '../tainted/quotes.ts'
import type { Composed, ComposeRequest } from './compose-schema.ts'
import { firstResult, sameAs } from './first-result.ts'
import { inspect } from './inspect.ts'
import { inboxPaused, mailboxKeeper, PolicyChanged, type Alongside, type MailCompanion } from './keeper.ts'
import { listed, type ComposedMail, type ContinuedThread } from './mail.ts'
import { findOriginalBytes, listStandingThreads } from './original-queries.ts'
import { filesOf, requireOriginal, textsOf, type Original } from './original.ts'
import { inspectedFor, observed, recipientRefusal } from './policy-reasons.ts'
import type { Composing } from './composing.ts'
import type { FileReader } from './read-files.ts'
import { taintedFor } from './taint.ts'
import { checkBlocked, write, type Kind, type Written } from './write.ts'

/** On whose behalf: a key that calls, or that asked for a draft to be sent later. */
export interface Requester {
  keyId: string | null
  name: string
  reach: Reach
}

export interface ComposeOrder {
  by: Actor
  caller: Requester
  inboxId: string
  kind: Kind
  /** What is answered or forwarded. */
  originalId?: string
  /** Of a reply whose original was deleted: it goes as a new mail in this thread, where that still has a message. */
  threadId?: string | null
  /** What it continues is gone, and was tainted. */
  wasTainted?: boolean
  body: ComposeRequest
  /** Besides those of the body, already decoded: those of a draft. */
  files?: readonly Attachment[]
  idempotencyKey?: string
  alongside?: Alongside
  /** What the last try of this mail was refused with, where it is tried again by itself. */
  refusedBefore?: string | null
}

type Inbox = Awaited<ReturnType<FindInbox>>

export async function compose(world: World, composing: Composing, order: ComposeOrder): Promise<Composed> {
  const { inboxId, caller, kind, originalId: id } = order
  // Told before anything is read: what is quoted or forwarded may be as large as mail may be.
  const isRead = id !== undefined && needsTexts(order)
  const ofOriginal = isRead ? await findOriginalBytes(world.db, { id, isForwarded: kind === 'forward' }) : 0
  const bytes = bytesOf(order.body) + ofOriginal
  // Nobody waits for a permit to be told that there is no such inbox.
  if (bytes > SMALL_BYTES_MAX) await composing.requireInbox(caller.reach, inboxId)
  const mail = { accountId: caller.reach.accountId, bytes, inboxId }
  return composing.withPermit(mail, () => composeWithPermit(world, composing, order))
}

/** For callers that took the permit before they read what they send. */
export async function composeWithPermit(world: World, composing: Composing, order: ComposeOrder): Promise<Composed> {
  for (let tries = 1; ; tries++) {
    try {
      return await composeOnce(world, composing, order)
    } catch (error) {
      if (!(error instanceof PolicyChanged)) throw error
      if (tries < TRIES_MAX) continue
      throw refuse('conflict', 'The policy of this inbox is being changed. Try again.', { cause: error })
    }
  }
}

/** Each one takes a change of the policy while the mail is inspected. */
const TRIES_MAX = 5

async function composeOnce(world: World, composing: Composing, order: ComposeOrder): Promise<Composed> {
  const { caller } = order
  const inbox = await composing.requireInbox(caller.reach, order.inboxId)
  try {
    if (inbox.status === 'paused') throw inboxPaused()
    const companion = await prepare(world, composing, { order, inbox })
    const response = await composing.gate.submit({ ...companion.mail.submission, companion })
    return response.duplicate ? await firstResult(world, caller.reach, response) : companion.result!
  } catch (refusal) {
    // That a tenant cannot send at all is said before what is wrong with the message.
    const { status } = await requireTenantInReach(world.db, { ...caller.reach, inboxId: null }, inbox.tenant_id)
    throw status === 'disabled' ? tenantDisabled() : refusal
  }
}

interface Preparing {
  order: ComposeOrder
  inbox: Inbox
}

async function prepare(world: World, composing: Composing, { order, inbox }: Preparing): Promise<MailCompanion> {
  const { caller, kind, body, by } = order
  const policy = policyOf(inbox.policy)
  const original = order.originalId === undefined ? null : await requireOriginalOf(world, order, inbox)
  if (original) checkBlocked(original, kind, body)
  const texts = original && needsTexts(order) ? await textsOf(world.db, original) : null
  const forwarded = kind === 'forward' && original ? await filesOf(world.db, original, texts) : []
  const files = [...(order.files ?? []), ...forwarded]
  const thread = order.threadId ? await findContinued(world, order.threadId) : null
  const writing = write({ kind, body, ownAddresses: addressesOf(inbox), original, thread, texts })
  const isShort = texts === null || texts.text.length + bytesOf(body) <= QUOTED_AT_ONCE_CHARS_MAX
  const written = isShort ? runAtOnce(writing) : await world.slices.run(writing, [inbox.account_id, inbox.tenant_id])
  const prepared = await submissionOf(world, composing, { order, inbox, written, files })
  const { submission } = prepared
  const refusal = recipientRefusal(policy, submission.recipients)
  if (refusal) throw refusal
  const mail = await inspected(world, composing.files, {
    ...prepared,
    written,
    original,
    thread,
    policy,
    inbox,
    order,
  })
  return {
    kind: 'mail',
    lockKey: inbox.id,
    keeper: mailboxKeeper,
    keepsSource: true,
    cost: mail.inspected.words.length / WORDS_PER_RECIPIENT,
    mail,
    inspectedFor: inspectedFor(policy),
    requestedBy: { type: caller.keyId === null ? by.type : 'api_key', id: caller.keyId, name: caller.name },
    by,
    alongside: order.alongside ?? null,
    ...(order.alongside ? { target: { type: 'draft', id: order.alongside.key } } : {}),
    result: null,
  }
}

/** The original of a reply in another inbox is none that this one could answer. */
async function requireOriginalOf(world: World, { caller, originalId }: ComposeOrder, inbox: Inbox): Promise<Original> {
  const original = await requireOriginal(world.db, caller.reach, originalId!)
  if (original.inboxId !== inbox.id) throw refuse('invalid_request', 'The message is in another inbox.')
  return original
}

async function findContinued({ db }: World, threadId: string): Promise<ContinuedThread | null> {
  const [thread] = await listStandingThreads(db, [threadId])
  return thread ? { id: thread.id, subject: thread.subject, isTainted: thread.is_tainted } : null
}

const needsTexts = ({ kind, body }: ComposeOrder): boolean =>
  kind === 'forward' || (kind === 'reply' && body.text === undefined && body.html === undefined)

async function submissionOf(
  world: World,
  { publicUrl }: Composing,
  { order, inbox, written, files }: Preparing & { written: Written; files: readonly Attachment[] },
): Promise<Prepared> {
  const { caller, body, by } = order
  const { to, cc, bcc, subject, text, html, headers } = written
  const request: SendRequest = {
    from: formatAddress({ name: inbox.display_name, address: inbox.connection?.address ?? inbox.address }),
    to: [...to],
    cc: [...cc],
    bcc: [...bcc],
    subject,
    ...(text === null ? {} : { text }),
    ...(html === null ? {} : { html }),
    headers,
    ...(body.attachments ? { attachments: body.attachments } : {}),
  }
  const sendOrder = {
    body: request,
    accountId: inbox.account_id,
    tenantId: inbox.tenant_id,
    apiKeyId: caller.keyId,
    idempotencyKey: order.idempotencyKey ?? null,
    now: world.clock.now(),
    by,
    publicUrl: publicUrl(),
    files,
    sameAs: sameAs(order),
  }
  const path = [inbox.account_id, inbox.tenant_id] as const
  const prepared = isSmall(request, files) ? prepareSmall(sendOrder) : await prepareLarge(world, sendOrder, path)
  const { refusedBefore = null } = order
  const relayInboxId = inbox.connection && inbox.id
  return { ...prepared, submission: { ...prepared.submission, relayInboxId, refusedBefore } }
}

/** Quoting so much takes a millisecond or two of the main thread. */
const QUOTED_AT_ONCE_CHARS_MAX = 32 * 1024
/** In characters: so many words take the database as long as one recipient does. */
const WORDS_PER_RECIPIENT = 400

const NOTHING_TAINTED: Tainted = { texts: [], packed: [] }

interface Inspecting extends Preparing, Pick<ComposedMail, 'submission' | 'written' | 'files' | 'original' | 'thread'> {
  policy: Policy
}

/** Names and addresses: both are the caller's words, and a local part has room for a key. */
const recipientTexts = ({ to, cc, bcc }: Written): string[] =>
  [...to, ...cc, ...bcc].flatMap(each => {
    const { name, address } = parseAddress(each) ?? { name: null, address: each }
    return name === null ? [address] : [name, address]
  })

async function inspected(world: World, reader: FileReader, inspecting: Inspecting): Promise<ComposedMail> {
  const { submission, written, files, original, thread, policy, inbox, order } = inspecting
  const now = world.clock.now()
  const tainted =
    policy.require_approval_on_taint && !original?.isTainted
      ? await taintedFor(world.db, {
          inboxId: inbox.id,
          tenantId: inbox.tenant_id,
          reach: order.caller.reach,
          submission,
          written,
          at: now,
        })
      : NOTHING_TAINTED
  const found = await inspect(world, reader, {
    subject: written.subject,
    text: written.text,
    html: written.html,
    ownText: written.text === null ? null : written.ownText,
    wantsFindings: policy.dlp !== 'off',
    recipients: recipientTexts(written),
    tainted: tainted ?? NOTHING_TAINTED,
    files,
    found: {
      addresses: {
        from: [shownAddress(submission.fromHeader)],
        to: [...listed(written.to), ...listed(written.cc), ...listed(written.bcc)],
      },
      attachmentNames: files.flatMap(({ filename }) => filename ?? []),
    },
    owner: inbox.account_id,
  })
  const repeatsTainted = found.repeatsTainted || tainted === null
  return {
    id: newId(now),
    sourceId: submission.messageId,
    at: now,
    submission,
    written,
    inspected: { ...found, repeatsTainted },
    files,
    original,
    thread,
    continuesTainted: original?.isTainted ?? thread?.isTainted ?? order.wasTainted ?? false,
    shield: observed(policy, found),
  }
}
