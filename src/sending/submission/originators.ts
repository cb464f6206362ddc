// The fields that say who sent a message and who gets the answers: From, Sender and Reply-To. Mail programs read them
// with parsers that differ in comments, quotes and old forms, and what one reads as ours another may read as a
// stranger's. So they are written anew from what we have read and checked, and what cannot be read plainly is refused.
import { formatAddress, parseAddress, type Address } from '../../mail/address/address.ts'
import { addressHeader } from '../../mail/mime/header-write.ts'
import { valueOf, type HeaderField } from '../../mail/mime/headers.ts'
import { invalid } from '../messages/check-texts.ts'
import { mailboxesIn } from './addressed.ts'
import type { Rewrite } from './seven-bit.ts'

export const ORIGINATOR_FIELDS: readonly string[] = ['from', 'sender', 'reply-to']

export function requireFrom(fields: readonly HeaderField[]): Address {
  const value = valueOf(fields, 'from')
  const from = value === null ? null : readOne(value)
  if (!from) throw invalid('From must contain exactly one address, in a form that every mail program reads alike.')
  return from
}

/** What has to be taken out and put in, so that each field is exactly what we have read. */
export function writtenAnew(fields: readonly HeaderField[], from: Address): Rewrite {
  const dropped = new Set<string>()
  let lines = ''
  const write = (name: string, mailboxes: readonly Address[]): void => {
    const value = valueOf(fields, name)
    if (value === null || (mailboxes.length > 0 && value === mailboxes.map(formatAddress).join(', '))) return
    dropped.add(name.toLowerCase())
    if (mailboxes.length > 0) lines += addressHeader(name, mailboxes)
  }
  write('From', [from])
  write('Sender', ownSender(fields, from))
  write('Reply-To', repliesTo(fields))
  return { dropped, lines, body: null }
}

/** None where Sender names somebody else's domain: mail programs would show it as the one who sent it. */
function ownSender(fields: readonly HeaderField[], from: Address): Address[] {
  const value = valueOf(fields, 'sender') ?? ''
  // A bare user name, as old programs write it, is nobody's address.
  if (!value.includes('@')) return []
  const sender = readOne(value)
  if (!sender) throw invalid('Sender must contain exactly one address, in a form that every mail program reads alike.')
  return sender.domain === from.domain ? [sender] : []
}

function repliesTo(fields: readonly HeaderField[]): Address[] {
  const value = valueOf(fields, 'reply-to') ?? ''
  if (!value.includes('@')) return []
  const one = parseAddress(value)
  if (one) return [one]
  const { mailboxes, isWhole, comments } = mailboxesIn(value)
  if (isWhole && comments.every(isPlainComment)) return mailboxes
  throw invalid('Reply-To must contain addresses in a form that every mail program reads alike.')
}

/** One mailbox, with a comment beside it at most: `a@b.example (Cron Daemon)`, as old programs write it. */
function readOne(value: string): Address | null {
  const one = parseAddress(value)
  if (one) return one
  const { mailboxes, isWhole, comments, separators } = mailboxesIn(value)
  // A group is no address, nor is a list with one in it.
  const isOne = isWhole && mailboxes.length === 1 && separators === 0
  return isOne && comments.every(isPlainComment) ? mailboxes[0]! : null
}

/** Without anything that could end it, open a quote or stand for an address in a parser that reads comments otherwise. */
const isPlainComment = (comment: string): boolean => /^\([^()\\"<>@,:;[\]]*\)$/.test(comment)
