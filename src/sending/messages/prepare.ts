// From the body of POST /v1/messages to a submission: everything is checked that can be without the database, and the
// source is composed. What is well-formed but cannot be sent is 422. A generator, because ten thousand recipients or 25 MB
// take a tenth of a second: it yields where others may go on.
import { parseAddress, type Address } from '../../mail/address/address.ts'
import { checkCustomHeader } from '../../mail/mime/custom-headers.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { composeMessage } from '../../mail/mime/compose.ts'
import { formatAddress } from '../../mail/address/address.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { refuse } from '../../platform/refusal.ts'
import type { SendRequest } from './send-schema.ts'
import { attachmentsTooLarge, decodeAttachments } from './attachments.ts'
import { tooManyRecipients } from './decide.ts'
import { bodyHash } from './idempotency.ts'
import * as limits from './limits.ts'
import type { Recipient, RecipientKind, Submission } from './submission.ts'
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
  /** Told of all files that it has in the end, decoded. */
  onFiles?: (files: readonly Attachment[]) => void
  /** What a repetition must be the same in, where that is more than the body. */
  sameAs?: Readonly<Record<string, unknown>>
}

export function* prepareSubmission(order: SendOrder): Generator<void, Submission> {
  const { body, now } = order
  const from = requireAddress(body.from, 'from')
  const addressed = yield* parseRecipients(body, order.recipientsMax ?? limits.RECIPIENTS_MAX)
  const recipients = withoutDuplicates(addressed)
  if (recipients.length === 0) throw invalid('The message has no recipient.')
  checkTexts(body)
  const attachments = yield* withFiles(yield* decodeAttachments(body.attachments ?? []), order.files ?? [])
  order.onFiles?.(attachments)
  const { replyTo, headers } = headersOf(body)
  const messageId = newId(now)
  const ownMessageId = headers.find(([name]) => name.toLowerCase() === 'message-id')?.[1]
  const rfcMessageId = ownMessageId ?? `<${messageId}@${from.domain}>`
  const source = yield* composeMessage({
    from,
    to: addressed.to,
    cc: addressed.cc,
    replyTo,
    subject: body.subject ?? null,
    text: body.text ?? null,
    html: body.html ?? null,
    headers: body.unsubscribe ? [...headers, ...unsubscribeHeaders(order.publicUrl)] : headers,
    attachments,
    messageId: rfcMessageId,
    date: now,
  })
  yield
  return {
    messageId,
    accountId: order.accountId,
    tenantId: order.tenantId,
    apiKeyId: order.apiKeyId,
    credentialId: null,
    sender: from.address,
    senderDomain: from.domain,
    fromHeader: formatAddress(from),
    recipients,
    subject: body.subject ?? null,
    rfcMessageId,
    tags: [...new Set(body.tags)],
    metadata: body.metadata ?? {},
    source,
    // Who receives it in secret stands in no header.
    needsSmtputf8: needsSmtputf8([from, ...replyTo, ...addressed.to, ...addressed.cc]),
    hasUnsubscribe: body.unsubscribe ?? false,
    idempotency:
      order.idempotencyKey === null
        ? null
        : { key: order.idempotencyKey, bodyHash: yield* bodyHash(order.sameAs ?? body) },
    by: order.by,
  }
}

function needsSmtputf8(addresses: readonly Address[]): boolean {
  return addresses.some(address => address.smtputf8)
}

/** Who receives it, each once; the most visible mention of an address counts. */
function withoutDuplicates(addressed: Record<RecipientKind, readonly Address[]>): Recipient[] {
  const recipients = new Map<string, Recipient>()
  for (const kind of ['to', 'cc', 'bcc'] as const) {
    for (const { address, domain } of addressed[kind]) {
      if (!recipients.has(address)) recipients.set(address, { address, domain, kind })
    }
  }
  return [...recipients.values()]
}

/**
 * Before any address is parsed. More texts than this are too many whatever they say; the same address written in the same
 * way counts once.
 */
function* checkRecipientCount({ to, cc = [], bcc = [] }: SendRequest): Generator<void, void> {
  if (to.length + cc.length + bcc.length <= limits.RECIPIENTS_MAX) return
  const distinct = new Set<string>()
  for (const texts of [to, cc, bcc]) {
    for (const [index, text] of texts.entries()) {
      distinct.add(text)
      if (distinct.size > limits.RECIPIENTS_MAX) throw tooManyRecipients(limits.RECIPIENTS_MAX)
      if (index % TEXTS_PER_SLICE === TEXTS_PER_SLICE - 1) yield
    }
  }
}

/** About 4 ms each. */
const ADDRESSES_PER_SLICE = 500
const TEXTS_PER_SLICE = 50_000

type Addressed = Record<RecipientKind, Address[]>

/**
 * Each text is parsed once, and stands once in its header. It ends as soon as there are more addresses than the tenant may
 * write to: what is too much is not worth reading to its end.
 */
function* parseRecipients(body: SendRequest, recipientsMax: number): Generator<void, Addressed> {
  yield* checkRecipientCount(body)
  const addressed: Addressed = { to: [], cc: [], bcc: [] }
  const parsed = new Map<string, Address>()
  const distinct = new Set<string>()
  for (const kind of ['to', 'cc', 'bcc'] as const) {
    const written = new Set<string>()
    for (const [index, text] of (body[kind] ?? []).entries()) {
      if (index % TEXTS_PER_SLICE === TEXTS_PER_SLICE - 1) yield
      if (written.has(text)) continue
      written.add(text)
      const address = parsed.get(text) ?? requireAddress(text, `${kind}[${index}]`)
      addressed[kind].push(address)
      if (parsed.has(text)) continue
      parsed.set(text, address)
      distinct.add(address.address)
      if (distinct.size > recipientsMax) throw tooManyRecipients(recipientsMax)
      if (parsed.size % ADDRESSES_PER_SLICE === 0) yield
    }
  }
  return addressed
}

function requireAddress(text: string, field: string): Address {
  const address = parseAddress(text)
  if (!address) throw invalid(`${field} is not one valid email address.`)
  return address
}

function checkTexts(body: SendRequest): void {
  checkContent(body)
  checkTags(body.tags ?? [])
  checkMetadata(body.metadata ?? {})
}

type Content = { [Field in 'subject' | 'text' | 'html']?: string | null }

/** What a mail says, also one that is not sent yet. */
export function checkContent({ subject, text, html }: Content): void {
  if (subject) {
    // Its characters first: each is a byte at least, and a long text is not worth reading.
    if (subject.length > limits.SUBJECT_BYTES_MAX || Buffer.byteLength(subject) > limits.SUBJECT_BYTES_MAX) {
      throw invalid(`subject is longer than ${limits.SUBJECT_BYTES_MAX} bytes.`)
    }
    if (/[\p{Cc}\u2028\u2029]/u.test(subject))
      throw invalid('subject contains a line break or another control character.')
  }
  if (Buffer.byteLength(text ?? '') + Buffer.byteLength(html ?? '') > limits.TEXT_BYTES_MAX) {
    throw invalid('text and html together are larger than 10 MiB.')
  }
}

export function checkTags(tags: readonly string[]): void {
  if (tags.length > limits.TAGS_MAX) throw invalid(`There are more than ${limits.TAGS_MAX} tags.`)
  for (const tag of tags) {
    if (isLonger(tag, limits.TAG_LENGTH_MAX) || tag.trim() === '' || /\p{Cc}/u.test(tag)) {
      throw invalid(`A tag is blank, longer than ${limits.TAG_LENGTH_MAX} characters or contains control characters.`)
    }
  }
}

/**
 * In characters, as JSON Schema counts them: one outside the basic plane is one, of two code units. What is longer than any
 * permitted text is not counted: 38 MB would take seconds and a gigabyte.
 */
const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max)

export function checkMetadata(metadata: Readonly<Record<string, string>>): void {
  const pairs = Object.entries(metadata)
  if (pairs.length > limits.METADATA_PAIRS_MAX)
    throw invalid(`metadata has more than ${limits.METADATA_PAIRS_MAX} pairs.`)
  for (const [name, value] of pairs) {
    if (isLonger(name, limits.METADATA_NAME_LENGTH_MAX)) {
      throw invalid(`A metadata name is longer than ${limits.METADATA_NAME_LENGTH_MAX} characters.`)
    }
    if (isLonger(value, limits.METADATA_VALUE_LENGTH_MAX)) {
      throw invalid(`A metadata value is longer than ${limits.METADATA_VALUE_LENGTH_MAX} characters.`)
    }
  }
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

export const invalid = (message: string) => refuse('invalid_message', message)
