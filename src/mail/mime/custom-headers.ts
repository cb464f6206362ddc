// What customers may put into the header of their own messages, and why not where they may not.

const NAME_CHARS_MAX = 76 // name and colon fit into one line of 78, RFC 5322 §2.1.1
const VALUE_BYTES_MAX = 998 // one line, RFC 5322 §2.1.1
export const CONTENT_ID_CHARS_MAX = 255 // ours; it is written unfolded and must fit into a line

/** A receiver that trusts its own could take ours for it. */
const BY_RECEIVERS = 'it is written by servers that receive the message'

// Fields the service or others write; a second copy would contradict it or forge it.
const OWNED_FIELDS = new Map(
  Object.entries({
    from: 'use the field from',
    to: 'use the field to',
    cc: 'use the field cc',
    bcc: 'use the field bcc',
    'reply-to': 'use the field reply_to',
    subject: 'use the field subject',
    sender: 'it is written by the service',
    'return-path': 'it is written by the service',
    received: 'it is written by the service',
    'dkim-signature': 'it is written by the service',
    date: 'it is written by the service',
    'mime-version': 'it is written by the service',
    'authentication-results': BY_RECEIVERS,
    'received-spf': BY_RECEIVERS,
    'delivered-to': BY_RECEIVERS,
    'x-service-tags': 'use the field tags',
    'x-service-metadata': 'use the field metadata',
    'idempotency-key': 'use the field idempotency_key',
  }),
)

/** Whole families of such fields. */
const OWNED_PREFIXES = Object.entries({
  'content-': 'it is written by the service',
  'arc-': BY_RECEIVERS,
  'resent-': 'it is written by a mailbox that sends a message on',
})

/** Null when the header may be sent, otherwise the reason why not. */
export function checkCustomHeader(name: string, value: string): string | null {
  // Lengths first: a long text is not worth reading.
  if (name.length > NAME_CHARS_MAX) return `The header name ${quote(name)} is longer than ${NAME_CHARS_MAX} characters.`
  if (value.length > VALUE_BYTES_MAX) return `The header ${quote(name)} is longer than ${VALUE_BYTES_MAX} bytes.`
  // RFC 5322 §3.6.8 allows a little more, but receivers and RFC 9110 agree on the token.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return `${quote(name)} is not a header name.`
  const lowerName = name.toLowerCase()
  const family = OWNED_PREFIXES.find(([prefix]) => lowerName.startsWith(prefix))
  const owned = family?.[1] ?? OWNED_FIELDS.get(lowerName)
  if (owned) return `The header ${name} cannot be set here: ${owned}.`
  if (/[^\P{Cc}\t]/u.test(value)) return `The header ${name} contains a line break or another control character.`
  if (Buffer.byteLength(value) > VALUE_BYTES_MAX) return `The header ${name} is longer than ${VALUE_BYTES_MAX} bytes.`
  if (lowerName === 'message-id' && !isMessageId(value)) return 'The header Message-ID must have the form <id@domain>.'
  return null
}

/** Whether the text is one message id with its angle brackets, in the form that survives every mail system. */
export function isMessageId(text: string): boolean {
  // RFC 5322 §3.6.4 id-left and id-right, without quoting: one line holds `Message-ID: ` and at most 986 bytes.
  return text.length <= 986 && /^<[!-;=?A-~]+@[!-;=?A-~]+>$/.test(text)
}

/** Null when the content id can be written as it is, otherwise the reason why not. */
export function checkContentId(contentId: string): string | null {
  if (contentId.length > 2 * CONTENT_ID_CHARS_MAX)
    return `The content_id is longer than ${CONTENT_ID_CHARS_MAX} characters.`
  const id = bareContentId(contentId)
  if (id.length > CONTENT_ID_CHARS_MAX) return `The content_id is longer than ${CONTENT_ID_CHARS_MAX} characters.`
  return /^[!-;=?-~]+$/.test(id)
    ? null
    : `The content_id ${quote(contentId)} contains blanks, brackets or non-ASCII text.`
}

/** A content id without the angle brackets that some callers add. */
export const bareContentId = (contentId: string): string => contentId.replace(/^<(.*)>$/, '$1')

const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
