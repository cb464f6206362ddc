// A mailbox as people read it: `Ann Lee <ann@example.com>`. Names are shown as they are, not encoded as in a header.
import { parseAddress } from './address.ts'

/** What reads as an encoded word is quoted: read again it would be another name. */
export const mailboxText = ({ name, address }: { name: string | null; address: string }): string =>
  name ? `${PLAIN.test(name) && !name.includes('=?') ? name : quoted(name)} <${address}>` : address

const PLAIN = /^[\w !#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+$/u

const quoted = (name: string): string => `"${name.replaceAll(/["\\]/g, '\\$&')}"`

/** An address as a caller or a header writes it. What is none stays as it stands. */
export function shownAddress(text: string): string {
  const address = parseAddress(text)
  return address ? mailboxText(address) : text
}
