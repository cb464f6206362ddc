// The Authentication-Results field (RFC 8601): ours is written above a received mail, and what claims to be ours but came with
// the mail is found, so that nobody is believed on a forged word.
import { fieldSpans } from '../mime/headers.ts'
import type { Authentication } from './authenticate.ts'

/** The field, folded and with its line break. Everything that strangers chose is reduced to the characters of names. */
export function authenticationResults(hostname: string, { spf, dkim, dmarc, arc }: Authentication): string {
  const signatures = dkim.signatures.map(
    ({ domain, selector, result }) => `dkim=${result}${property('header.d', domain)}${property('header.s', selector)}`,
  )
  const lines = [
    ...(signatures.length > 0 ? signatures : [`dkim=${dkim.result}`]),
    `spf=${spf.result}${property('smtp.mailfrom', spf.domain)}`,
    `dmarc=${dmarc.result}${dmarc.policy ? ` (p=${dmarc.policy})` : ''}${property('header.from', dmarc.domain)}`,
    `arc=${arc.result}`,
  ]
  return `Authentication-Results: ${hostname};\r\n\t${lines.join(';\r\n\t')}\r\n`
}

const property = (name: string, value: string | null): string =>
  value !== null && /^[\w.-]{1,253}$/.test(value) ? ` ${name}=${value}` : ''

/**
 * Where in a header block the fields lie that claim to be results of this host (RFC 8601 §5), as offsets of bytes with their
 * line breaks. A field that cannot be read is taken for one: nobody needs it, and a reader might see our name in it.
 */
export function forgedResults(header: Buffer, hostname: string): { start: number; end: number }[] {
  // In latin1 an index of the text is an offset of the bytes.
  const block = header.toString('latin1')
  const own = hostname.toLowerCase().replace(/\.$/, '')
  return fieldSpans(block)
    .filter(({ start, colon, end }) => {
      const name = block.slice(start, colon).trimEnd().toLowerCase()
      if (name !== 'authentication-results') return false
      const id = servedBy(block.slice(colon + 1, end))
      // Behind a comment or a quote the version of the field follows at once.
      return id === null || (id.startsWith(own) && /^\d*$/.test(id.slice(own.length).replace(/^\./, '')))
    })
    .map(({ start, end }) => ({ start, end }))
}

const ID_CHARS_MAX = 1_024

/** The authserv-id: the first word or quoted string, whatever comments and folds stand before it. Null when there is none. */
export function servedBy(value: string): string | null {
  let depth = 0
  let id = ''
  let isQuoted = false
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!
    if (char === '\\' && (depth > 0 || isQuoted)) {
      at++
      if (depth === 0) id += value[at] ?? ''
    } else if (depth > 0) depth += char === '(' ? 1 : char === ')' ? -1 : 0
    else if (isQuoted) {
      if (char === '"') isQuoted = false
      else if (char !== '\r' && char !== '\n') id += char
    } else if (char === '(') depth = 1
    else if (char === '"') isQuoted = true
    else if (/[\s;]/.test(char)) {
      // A comment may stand between the name and what follows; a blank or a semicolon ends it.
      if (id !== '') break
      if (char === ';') return null
    } else id += char
    if (id.length > ID_CHARS_MAX) return null
  }
  const plain = id.trim().toLowerCase().replace(/\.$/, '')
  return plain === '' || depth > 0 || isQuoted ? null : plain
}
