// From the body of POST /v1/messages to a submission: everything is checked that can be without the database, and the
// source is composed. What is well-formed but cannot be sent is 422. A generator, because ten thousand recipients or 25 MB
// take a tenth of a second: it yields where others may have their turn.
import { createHash } from 'node:crypto'
import { parseAddress, type Address } from '../../mail/address.ts'
import { checkContentId, checkCustomHeader } from '../../mail/custom-headers.ts'
import type { Attachment } from '../../mail/mime-attachment.ts'
import { composeMessage } from '../../mail/mime-write.ts'
import { formatAddress } from '../../mail/address.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { refuse } from '../../platform/refusal.ts'
import type { SendRequest } from './contract.ts'
import { decodeAttachments } from './attachments.ts'
import * as limits from './limits.ts'
import type { Recipient, RecipientKind, Submission } from './submission.ts'
import { unsubscribeHeaders } from './unsubscribe-link.ts'

export interface SendOrder {
  body: SendRequest
  accountId: string
  tenantId: string
  apiKeyId: string | null
  idempotencyKey: string | null
  now: Date
  by: Actor
  /** Base of the links in the message. */
  publicUrl: string
}

export function* prepareSubmission(order: SendOrder): Generator<void, Submission> {
  const { body, now } = order
  checkRecipientCount(body)
  const from = requireAddress(body.from, 'from')
  const addressed = {
    to: yield* addressesOf(body.to, 'to'),
    cc: yield* addressesOf(body.cc, 'cc'),
    bcc: yield* addressesOf(body.bcc, 'bcc'),
  }
  const recipients = withoutDuplicates(addressed)
  if (recipients.length === 0) throw invalid('The message has no recipient.')
  if (recipients.length > limits.RECIPIENTS_MAX) throw tooManyRecipients(limits.RECIPIENTS_MAX)
  checkTexts(body)
  const attachments = yield* attachmentsOf(body)
  const replyTo = body.reply_to === undefined ? [] : [requireAddress(body.reply_to, 'reply_to')]
  const messageId = newId(now)
  const headers = customHeaders(body)
  const ownMessageId = headers.find(([name]) => name.toLowerCase() === 'message-id')?.[1]
  const rfcMessageId = ownMessageId ?? `<${messageId}@${from.domain}>`
  const source = composeMessage({
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
    idempotency: order.idempotencyKey === null ? null : { key: order.idempotencyKey, bodyHash: yield* hashOf(body) },
    by: order.by,
  }
}

export function needsSmtputf8(addresses: readonly Address[]): boolean {
  return addresses.some(address => address.smtputf8)
}

/** Who receives it, each once; the most visible mention of an address counts. */
export function withoutDuplicates(addressed: Record<RecipientKind, readonly Address[]>): Recipient[] {
  const recipients = new Map<string, Recipient>()
  for (const kind of ['to', 'cc', 'bcc'] as const) {
    for (const { address, domain } of addressed[kind]) {
      if (!recipients.has(address)) recipients.set(address, { address, domain, kind })
    }
  }
  return [...recipients.values()]
}

/**
 * Before any address is parsed. More entries than this are too many whatever they say; the same address written in the
 * same way counts once.
 */
function checkRecipientCount({ to, cc = [], bcc = [] }: SendRequest): void {
  if (to.length + cc.length + bcc.length <= limits.RECIPIENTS_MAX) return
  const distinct = new Set<string>()
  for (const texts of [to, cc, bcc]) {
    for (const text of texts) {
      distinct.add(text)
      if (distinct.size > limits.RECIPIENTS_MAX) throw tooManyRecipients(limits.RECIPIENTS_MAX)
    }
  }
}

export const tooManyRecipients = (max: number) =>
  refuse('too_many_recipients', `A message may have at most ${max} recipients.`)

/** About 4 ms. */
const ADDRESSES_PER_SLICE = 500

function* addressesOf(texts: readonly string[] | undefined, field: string): Generator<void, Address[]> {
  const addresses: Address[] = []
  for (const [index, text] of (texts ?? []).entries()) {
    addresses.push(requireAddress(text, `${field}[${index}]`))
    if (addresses.length % ADDRESSES_PER_SLICE === 0) yield
  }
  return addresses
}

function requireAddress(text: string, field: string): Address {
  const address = parseAddress(text)
  if (!address) throw invalid(`${field} is not one valid email address.`)
  return address
}

function checkTexts({ subject, text, html, tags = [], metadata = {} }: SendRequest): void {
  if (subject !== undefined) {
    if (/[\p{Cc}\u2028\u2029]/u.test(subject)) throw invalid('subject holds a line break or another control character.')
    if (Buffer.byteLength(subject) > limits.SUBJECT_BYTES_MAX) {
      throw invalid(`subject is longer than ${limits.SUBJECT_BYTES_MAX} bytes.`)
    }
  }
  if (Buffer.byteLength(text ?? '') + Buffer.byteLength(html ?? '') > limits.TEXT_BYTES_MAX) {
    throw invalid('text and html together are larger than 10 MiB.')
  }
  checkTags(tags)
  checkMetadata(metadata)
}

export function checkTags(tags: readonly string[]): void {
  if (tags.length > limits.TAGS_MAX) throw invalid(`There are more than ${limits.TAGS_MAX} tags.`)
  for (const tag of tags) {
    if (tag.trim() === '' || isLonger(tag, limits.TAG_LENGTH_MAX) || /\p{Cc}/u.test(tag)) {
      throw invalid(`A tag is blank, longer than ${limits.TAG_LENGTH_MAX} characters or holds control characters.`)
    }
  }
}

/** In characters, as JSON Schema counts them: one outside the basic plane is one. */
const isLonger = (text: string, max: number): boolean => text.length > max && Array.from(text).length > max

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

function customHeaders({ headers = {}, unsubscribe }: SendRequest): [name: string, value: string][] {
  const entries = Object.entries(headers)
  if (entries.length > limits.HEADERS_MAX) throw invalid(`There are more than ${limits.HEADERS_MAX} headers.`)
  for (const [name, value] of entries) {
    const reason = checkCustomHeader(name, value)
    if (reason) throw invalid(reason)
    // RFC 8058 §3.1: one of each.
    if (unsubscribe && /^list-unsubscribe(-post)?$/i.test(name)) {
      throw invalid(`The header ${name} cannot be set together with unsubscribe, which writes it.`)
    }
  }
  return entries
}

function* attachmentsOf({ attachments = [] }: SendRequest): Generator<void, Attachment[]> {
  for (const { content_id, filename, content_type } of attachments) {
    const reason = content_id === undefined ? null : checkContentId(content_id)
    if (reason) throw invalid(reason)
    if (/\p{Cc}/u.test(filename ?? '') || /\p{Cc}/u.test(content_type ?? '')) {
      throw invalid('filename and content_type must not hold control characters.')
    }
  }
  return yield* decodeAttachments(attachments)
}

/** The key itself is not part of what must be the same. Field order is the caller's affair. */
function* hashOf({ idempotency_key: _, ...body }: SendRequest): Generator<void, Buffer> {
  const hash = createHash('sha256')
  for (const name of Object.keys(body).toSorted()) {
    hash.update(`${name}\n${JSON.stringify(body[name as keyof typeof body], inOrder)}\n`)
    yield
  }
  return hash.digest()
}

/** As a replacer of JSON.stringify: fields of objects by their names. */
const inOrder = (_: string, value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value

export const invalid = (message: string) => refuse('invalid_message', message)
