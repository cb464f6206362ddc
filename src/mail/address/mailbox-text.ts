// A mailbox as people read it: `Ann Lee <ann@example.com>`. Names are shown as they are, not encoded as in a header.
import { displayText } from '../mime/headers.ts'
import { parseAddress } from './address.ts'

/**
 * As parseAddress reads it again, and PostgreSQL takes it, whatever a stranger's encoded word decoded to. What reads as an
 * encoded word itself is quoted: it would be another name.
 */
export function mailboxText({ name, address }: { name: string | null; address: string }): string {
  const shown = displayText((name ?? '').replaceAll(DIRECTION_CONTROLS, ''))
    .replaceAll(/ {2,}/g, ' ')
    .toWellFormed()
  if (shown === '') return address
  return `${PLAIN.test(shown) && !shown.includes('=?') ? shown : quoted(shown)} <${address}>`
}

/** Written in front of an address they would show it backwards. */
const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g

const PLAIN = /^[\w !#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+$/u

const quoted = (name: string): string => `"${name.replaceAll(/["\\]/g, '\\$&')}"`

/** An address as a caller or a header writes it. What is none stays as it stands. */
export function shownAddress(text: string): string {
  const address = parseAddress(text)
  return address ? mailboxText(address) : text
}
