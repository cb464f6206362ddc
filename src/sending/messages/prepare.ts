// From the body of POST /v1/messages to a submission: everything is checked that can be without the database, and the
// source is composed. What is well-formed but cannot be sent is 422. Large messages are checked in slices, because ten
// thousand recipients take a tenth of a second, and composed in a thread.
import { formatAddress, type Address } from '../../mail/address/address.ts'
import { checkCustomHeader } from '../../mail/mime/custom-headers.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { composeMessage, type OutgoingMessage } from '../../mail/mime/compose.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { runAtOnce } from '../../platform/slices.ts'
import type { World } from '../../platform/world.ts'
import { composeInThread } from './compose-large.ts'
import type { SendRequest } from './send-schema.ts'
import { attachmentsTooLarge, decodeAttachments } from './attachments.ts'
import { bodyHash } from './idempotency.ts'
import * as limits from './limits.ts'
import { checkTexts, invalid } from './check-texts.ts'
import { parseRecipients, requireAddress, withoutDuplicates } from './recipients.ts'
import { bytesOf } from './size.ts'
import type { Recipient, Submission } from './submission.ts'
import { unsubscribeHeaders } from './unsubscribe-link.ts'

interface SendOrder {
  body: SendRequest
  accountId: string
  tenantId: string
  apiKeyId: string | null
  idempotencyKey: string | null
  /** Where the tenant's limit was looked up. The gate asks for it in any case. */
  recipientsMax?: number
  now: Date
  by: Actor
  /** Base of the links in the message. */
  publicUrl: string
  /** Files that come with it besides those of the body, such as those of a mail that is forwarded. */
  files?: readonly Attachment[]
  /** What a repetition must be the same in, where that is more than the body. */
  sameAs?: Readonly<Record<string, unknown>>
}

export interface Prepared {
  submission: Submission
  /** All that it has, decoded. */
  files: readonly Attachment[]
}

/** At once: for what is known to be small. */
export function prepareSmall(order: SendOrder): Prepared {
  const { outgoing, ...checked } = runAtOnce(checkOrder(order))
  return preparedFrom(checked, outgoing, composeMessage(outgoing))
}

/** `path` says for whom, broadest first. The memory of the files is given away, and given back with those of the answer. */
export async function prepareLarge(world: World, order: SendOrder, path: readonly [string, ...string[]]) {
  const { outgoing, ...checked } = await world.slices.run(checkOrder(order), path)
  // With many recipients and little text the way to a thread takes as long as composing does.
  const bytes = bytesOf(order.body, order.files)
  if (bytes <= limits.SMALL_BYTES_MAX) return preparedFrom(checked, outgoing, composeMessage(outgoing))
  const source = await composeInThread(world.threads, outgoing, { owner: path[0], bytes })
  return preparedFrom(checked, outgoing, source)
}

interface Checked {
  order: SendOrder
  messageId: string
  recipients: readonly Recipient[]
  idempotency: Submission['idempotency']
  /** Its source is still to be composed. */
  outgoing: OutgoingMessage
}

function* checkOrder(order: SendOrder): Generator<void, Checked> {
  const { body, now } = order
  const from = requireAddress(body.from, 'from')
  const addressed = yield* parseRecipients(body, order.recipientsMax ?? limits.RECIPIENTS_MAX)
  const recipients = withoutDuplicates(addressed)
  if (recipients.length === 0) throw invalid('The message has no recipient.')
  checkTexts(body)
  const attachments = yield* withFiles(yield* decodeAttachments(body.attachments ?? []), order.files ?? [])
  const { replyTo, headers } = headersOf(body)
  const messageId = newId(now)
  const ownMessageId = headers.find(([name]) => name.toLowerCase() === 'message-id')?.[1]
  const { idempotencyKey: key } = order
  return {
    order,
    messageId,
    recipients,
    idempotency: key === null ? null : { key, bodyHash: yield* bodyHash(order.sameAs ?? body) },
    outgoing: {
      from,
      to: addressed.to,
      cc: addressed.cc,
      replyTo,
      subject: body.subject ?? null,
      text: body.text ?? null,
      html: body.html ?? null,
      headers: body.unsubscribe ? [...headers, ...unsubscribeHeaders(order.publicUrl)] : headers,
      attachments,
      messageId: ownMessageId ?? `<${messageId}@${from.domain}>`,
      date: now,
    },
  }
}

function preparedFrom(
  { order, ...checked }: Omit<Checked, 'outgoing'>,
  { from, to, cc, replyTo, subject, messageId: rfcMessageId, attachments: files }: OutgoingMessage,
  source: Buffer,
): Prepared {
  const { accountId, tenantId, apiKeyId, by, body } = order
  const submission = {
    ...checked,
    accountId,
    tenantId,
    apiKeyId,
    credentialId: null,
    sender: from.address,
    senderDomain: from.domain,
    fromHeader: formatAddress(from),
    subject,
    rfcMessageId,
    tags: [...new Set(body.tags)],
    metadata: body.metadata ?? {},
    source,
    // Who receives it in secret stands in no header.
    needsSmtputf8: needsSmtputf8([from, ...replyTo, ...to, ...cc]),
    hasUnsubscribe: body.unsubscribe ?? false,
    by,
  }
  return { submission, files }
}

function needsSmtputf8(addresses: readonly Address[]): boolean {
  return addresses.some(address => address.smtputf8)
}

type Header = [name: string, value: string]

/** Reply-To may stand among the headers, as other services take it, but not in both places. */
function headersOf(body: SendRequest): { replyTo: Address[]; headers: Header[] } {
  const entries = Object.entries(body.headers ?? {})
  if (entries.length > limits.HEADERS_MAX) throw invalid(`There are more than ${limits.HEADERS_MAX} headers.`)
  const own = body.reply_to === undefined ? entries.find(([name]) => name.toLowerCase() === 'reply-to') : undefined
  const text = body.reply_to ?? own?.[1]
  return {
    replyTo: text === undefined ? [] : [requireAddress(text, own ? `headers.${own[0]}` : 'reply_to')],
    headers: checkedHeaders(
      entries.filter(entry => entry !== own),
      body.unsubscribe,
    ),
  }
}

function checkedHeaders(entries: Header[], unsubscribe: boolean | undefined): Header[] {
  const names = new Set<string>()
  for (const [name, value] of entries) {
    const reason = checkCustomHeader(name, value)
    if (reason) throw invalid(reason)
    const lowerName = name.toLowerCase()
    if (names.has(lowerName)) throw invalid(`The header ${name} is given more than once.`)
    names.add(lowerName)
    // RFC 8058 §3.1: one of each.
    if (unsubscribe && /^list-unsubscribe(-post)?$/i.test(name)) {
      throw invalid(`The header ${name} cannot be set together with unsubscribe, which writes it.`)
    }
  }
  return entries
}

function* withFiles(own: Attachment[], files: readonly Attachment[]): Generator<void, Attachment[]> {
  if (files.length === 0) return own
  yield
  const attachments = [...own, ...files]
  const bytes = attachments.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > limits.ATTACHMENT_BYTES_MAX) throw attachmentsTooLarge()
  return attachments
}
