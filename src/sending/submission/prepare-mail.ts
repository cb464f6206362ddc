// From a message as an SMTP client sent it to a submission: the header is checked and edited, the body is left alone
// but for a text that not every receiver could take. The envelope says who receives; From says who sends.
import { isAscii, isUtf8 } from 'node:buffer'
import type { SmtpPrincipal } from '../../identity/smtp-credentials/authenticate.ts'
import { formatAddress, type Address } from '../../mail/address/address.ts'
import { formatDate } from '../../mail/mime/header-write.ts'
import {
  displayValue,
  isHeaderTooLarge,
  readHeader,
  removeFields,
  splitSource,
  valueOf,
  valuesOf,
  type HeaderField,
} from '../../mail/mime/headers.ts'
import { withoutLongLines } from '../../mail/mime/long-lines.ts'
import type { ReceivedMail } from '../../smtp/server/door.ts'
import { newId } from '../../platform/ids.ts'
import { attachmentsTooLarge } from '../messages/attachments.ts'
import { ATTACHMENT_BYTES_MAX } from '../messages/limits.ts'
import { invalid } from '../messages/check-texts.ts'
import type { Submission } from '../messages/submission.ts'
import { recipientsOf } from './addressed.ts'
import { attachmentBytes } from './attachment-size.ts'
import { bodyHash } from './body-hash.ts'
import { ORIGINATOR_FIELDS, requireFrom, writtenAnew } from './originators.ts'
import { SmtpRefusal } from './reply.ts'
import { isPrivateField, readServiceHeaders } from './service-headers.ts'
import { fieldsInAscii, textInSevenBits, type Rewrite } from './seven-bit.ts'

export interface MailOrder extends Omit<ReceivedMail<unknown, Address>, 'login' | 'takeSource'> {
  login: SmtpPrincipal
  source: Buffer
  /** Our name in Received. */
  host: string
  now: Date
}

const RECEIVED_MAX = 30 // more is a loop
const SUBJECT_CHARS_MAX = 998 // RFC 5322 §2.1.1

export function prepareMail(order: MailOrder): Submission {
  const { source, login, client, now } = order
  const { headerEnd } = splitSource(source)
  const fields = checkedFields(source, headerEnd)
  const from = requireFrom(fields)
  const { tags, metadata, idempotencyKey } = readServiceHeaders(fields)
  const recipients = recipientsOf(order.recipients, fields)
  if (source.length > ATTACHMENT_BYTES_MAX && attachmentBytes(source) > ATTACHMENT_BYTES_MAX)
    throw attachmentsTooLarge()
  const messageId = newId(now)
  const ownMessageId = validMessageId(fields)
  const rfcMessageId = ownMessageId ?? `<${messageId}@${from.domain}>`
  const body = source.subarray(splitSource(source).bodyStart)
  const text = textInSevenBits(fields, body)
  const others = fields.filter(({ lowerName }) => !isPrivateField(lowerName) && !ORIGINATOR_FIELDS.includes(lowerName))
  const rewrites = [writtenAnew(fields, from), text, order.smtputf8 ? null : fieldsInAscii(others)]
  const edited = editedHeader(source.subarray(0, headerEnd), {
    rewrites: rewrites.filter(rewrite => rewrite !== null),
    dropped: new Set(ownMessageId === null ? ['message-id'] : []),
  })
  const additions =
    receivedLine(order, messageId) +
    (valueOf(fields, 'date') === null ? `Date: ${formatDate(now)}\r\n` : '') +
    (ownMessageId === null ? `Message-ID: ${rfcMessageId}\r\n` : '')
  const subject = valueOf(fields, 'subject')
  return {
    messageId,
    accountId: login.accountId,
    tenantId: login.tenantId,
    apiKeyId: null,
    credentialId: login.credentialId,
    sender: from.address,
    senderDomain: from.domain,
    fromHeader: formatAddress(from),
    recipients,
    subject: subject && displayValue(subject).slice(0, SUBJECT_CHARS_MAX).toWellFormed(),
    rfcMessageId,
    tags,
    metadata,
    source: inShortLines([
      Buffer.from(additions),
      edited,
      source.subarray(headerEnd, source.length - body.length),
      text?.body ?? body,
    ]),
    needsSmtputf8: !isAscii(edited) || from.smtputf8,
    hasUnsubscribe: false,
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: bodyHash(fields, body, recipients) },
    by: {
      type: 'smtp_credential',
      id: login.credentialId,
      name: login.username,
      ip: client.ip,
      requestId: client.id,
      action: null,
    },
  }
}

/** RFC 5322 §3.6: these stand once. Twice, and two readers see two different messages. */
const ONCE = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'message-id',
  'in-reply-to',
  'references',
  'subject',
  'date',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
])

const BLANK_BEFORE_COLON = new RegExp(`^(?:${[...ONCE].join('|')})[ \\t]+:`, 'im')

function checkedFields(source: Buffer, headerEnd: number): HeaderField[] {
  if (isHeaderTooLarge(source)) throw invalid('The header is larger than any honest one.')
  if (!isUtf8(source.subarray(0, headerEnd))) throw invalid('The header is neither ASCII nor UTF-8.')
  const fields = readHeader(source)
  const beginsFolded = source[0] === 0x20 || source[0] === 0x09
  // RFC 5322 §2.2: a name is printable and holds no blank. A line that is no field may end the header for others.
  if (beginsFolded || fields.some(({ name }) => !/^[!-9;-~]+$/.test(name))) {
    throw invalid('The header contains a line that is no field.')
  }
  // RFC 5322 §4.5 allows a blank before the colon; to many readers that is another field.
  if (BLANK_BEFORE_COLON.test(source.toString('latin1', 0, headerEnd))) {
    throw invalid('The header contains a field with a blank before its colon.')
  }
  const seen = new Set<string>()
  for (const { name, lowerName } of fields) {
    if (ONCE.has(lowerName) && seen.has(lowerName)) throw invalid(`The field ${name} stands more than once.`)
    seen.add(lowerName)
  }
  if (valuesOf(fields, 'received').length > RECEIVED_MAX) {
    throw new SmtpRefusal('550 5.4.6 The message has passed so many servers that it must be in a loop')
  }
  return fields
}

function validMessageId(fields: readonly HeaderField[]): string | null {
  const value = valueOf(fields, 'message-id')
  return value !== null && /^<[!-;=?-~]{3,250}>$/.test(value) ? value : null
}

function inShortLines(pieces: Buffer[]): Buffer {
  const short = withoutLongLines(Buffer.concat(pieces))
  if (short) return short
  throw new SmtpRefusal(
    '550 5.6.3 The message has a line of more than 998 bytes that cannot be broken: use base64 or quoted-printable, ' +
      'and fold header fields',
  )
}

interface Edits {
  rewrites: readonly Rewrite[]
  dropped: ReadonlySet<string>
}

function editedHeader(header: Buffer, { rewrites, dropped: gone }: Edits): Buffer {
  const kept = removeFields(
    header,
    lowerName =>
      isPrivateField(lowerName) || gone.has(lowerName) || rewrites.some(({ dropped }) => dropped.has(lowerName)),
  )
  if (rewrites.length === 0) return kept
  return Buffer.concat([kept, Buffer.from(rewrites.map(({ lines }) => lines).join(''))])
}

/** RFC 5321 §4.4. Who logged in is our customer's affair, not the recipient's. */
function receivedLine({ client, smtputf8, host, now }: MailOrder, messageId: string): string {
  const helo = client.helo.replaceAll(/[^\w.:[\]-]/g, '?')
  const literal = client.ip.includes(':') ? `IPv6:${client.ip}` : client.ip
  // RFC 3848 and RFC 6531 §4.3.
  const protocol = `${smtputf8 ? 'UTF8SMTP' : 'ESMTP'}${client.isSecure ? 'S' : ''}A`
  return `Received: from ${helo} ([${literal}])\r\n\tby ${host} with ${protocol} id ${messageId};\r\n\t${formatDate(now)}\r\n`
}
