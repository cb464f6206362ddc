// Who a header names as its recipients. The envelope decides who receives; this only tells whether an address stands in
// To, in Cc, or nowhere, which makes it a blind copy.
import { parseAddress, type Address } from '../../mail/address/address.ts'
import { valueOf, type HeaderField } from '../../mail/mime/headers.ts'
import type { Recipient } from '../messages/submission.ts'

/** Each once, in the order of the envelope. */
export function recipientsOf(envelope: readonly Address[], fields: readonly HeaderField[]): Recipient[] {
  const to = namedIn(fields, 'to')
  const cc = namedIn(fields, 'cc')
  const recipients = new Map<string, Recipient>()
  for (const { address, domain } of envelope) {
    const kind = to.has(address) ? 'to' : cc.has(address) ? 'cc' : 'bcc'
    recipients.set(address, { address, domain, kind })
  }
  return [...recipients.values()]
}

function namedIn(fields: readonly HeaderField[], name: string): ReadonlySet<string> {
  const value = valueOf(fields, name) ?? ''
  const one = parseAddress(value)
  return new Set((one ? [one] : mailboxesIn(value).mailboxes).map(({ address }) => address))
}

/** A thousand recipients with their names are 100 KB. Who stands behind counts as a blind copy. */
const LIST_CHARS_MAX = 131_072
// A comment may hold an escaped bracket. One within another is read by nobody alike, and ends the reading.
const PIECES = /"(?:[^"\\]|\\.)*"|<[^<>]*>|\((?:[^()\\]|\\.)*\)|[,:;]|[^",:;<(]+/guy

interface AddressList {
  mailboxes: Address[]
  /** With their brackets. */
  comments: string[]
  /** Commas, colons and semicolons between them. */
  separators: number
  /** All of it was read. */
  isWhole: boolean
}

/** The mailboxes of an address list (RFC 5322 §3.4), groups and comments included. */
export function mailboxesIn(value: string): AddressList {
  const mailboxes: Address[] = []
  const comments: string[] = []
  let separators = 0
  let isWhole = true
  let text = ''
  let end = 0
  const take = (): void => {
    const given = text.trim() !== ''
    const mailbox = given ? parseAddress(text) : null
    if (mailbox) mailboxes.push(mailbox)
    else if (given) isWhole = false
    text = ''
  }
  // A quote, bracket or comment that does not end also ends the reading: PIECES is sticky.
  for (const [piece] of value.slice(0, LIST_CHARS_MAX).matchAll(PIECES)) {
    end += piece.length
    const isSeparator = piece === ',' || piece === ';' || piece === ':'
    if (isSeparator) separators++
    if (piece === ':') text = ''
    else if (isSeparator) take()
    else if (piece.startsWith('(')) {
      comments.push(piece)
      // It parts words, as a blank does.
      text += ' '
    } else text += piece
  }
  take()
  return { mailboxes, comments, separators, isWhole: isWhole && end === value.length }
}
