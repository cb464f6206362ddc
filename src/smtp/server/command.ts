// Reads the command lines of an SMTP client (RFC 5321 §4.1), strictly: what is not in the grammar is refused, because a
// server that guesses sees another message than the one in front of it. A blank after the colon of MAIL FROM: and
// RCPT TO: is let through; old devices send it, and it leaves no doubt.

export function parseCommand(line: string): { verb: string; argument: string } {
  const blank = line.indexOf(' ')
  if (blank === -1) return { verb: line.toUpperCase(), argument: '' }
  return { verb: line.slice(0, blank).toUpperCase(), argument: line.slice(blank + 1).trimEnd() }
}

interface MailOrder {
  /** Empty for the null sender. */
  path: string
  /** The size that the client announces, RFC 1870. */
  size: number | null
  smtputf8: boolean
}

type Parsed<T> = { kind: 'ok'; value: T } | { kind: 'refused'; reply: string }

const PATH_BYTES_MAX = 254 // a path is 256 with its angle brackets, RFC 5321 §4.5.3.1.3

export function parseMail(argument: string): Parsed<MailOrder> {
  const parts = splitPath(argument, 'FROM:')
  if (!parts) return refused('501 5.5.4 Syntax: MAIL FROM:<address>')
  const order: MailOrder = { path: parts.path, size: null, smtputf8: false }
  for (const [name, value] of parts.parameters) {
    switch (name) {
      case 'SIZE':
        if (!/^\d{1,20}$/.test(value ?? '')) return refused('501 5.5.4 SIZE is a number')
        order.size = Number(value)
        break
      case 'BODY':
        if (!/^(?:7BIT|8BITMIME)$/i.test(value ?? '')) return refused('501 5.5.4 BODY is 7BIT or 8BITMIME')
        break
      case 'SMTPUTF8':
        if (value !== null) return refused('501 5.5.4 SMTPUTF8 takes no value')
        order.smtputf8 = true
        break
      case 'AUTH':
        // RFC 4954 §5: whom the client vouches for. We believe the login only.
        break
      default:
        return refused(`555 5.5.4 ${name} is not supported`)
    }
  }
  // RFC 6531 §3.5: an address outside ASCII needs the parameter that says so.
  if (!isAscii(order.path) && !order.smtputf8) return refused('553 5.6.7 A non-ASCII address needs SMTPUTF8')
  return { kind: 'ok', value: order }
}

export function parseRcpt(argument: string, { smtputf8 }: { smtputf8: boolean }): Parsed<string> {
  const parts = splitPath(argument, 'TO:')
  if (!parts || parts.path === '') return refused('501 5.5.4 Syntax: RCPT TO:<address>')
  const [unknown] = parts.parameters.keys()
  if (unknown !== undefined) return refused(`555 5.5.4 ${unknown} is not supported`)
  if (!isAscii(parts.path) && !smtputf8) return refused('553 5.6.7 A non-ASCII address needs SMTPUTF8')
  return { kind: 'ok', value: parts.path }
}

const refused = (reply: string): { kind: 'refused'; reply: string } => ({ kind: 'refused', reply })

const isAscii = (text: string): boolean => /^[ -~]*$/.test(text)

// A quoted string may hold a bracket or a blank. The alternatives begin differently, so the search never goes back.
const PATH = /^ *<((?:"(?:[^"\\]|\\.)*"|[^"<>\s])*)>(?: +(.+))?$/u
/** RFC 5321 §4.1.1.3: a server takes it and goes by the address alone. */
const SOURCE_ROUTE = /^@[\w.-]+(?:,@[\w.-]+)*:(?=.)/
const PARAMETER = /^([A-Z0-9][A-Z0-9-]*)(?:=([!-<>-~]+))?$/i

function splitPath(argument: string, word: string): { path: string; parameters: Map<string, string | null> } | null {
  if (argument.slice(0, word.length).toUpperCase() !== word) return null
  const match = PATH.exec(argument.slice(word.length))
  if (!match || Buffer.byteLength(match[1]!) > PATH_BYTES_MAX) return null
  const parameters = new Map<string, string | null>()
  for (const text of match[2]?.split(/ +/) ?? []) {
    const parameter = PARAMETER.exec(text)
    const name = parameter?.[1]!.toUpperCase()
    if (!parameter || !name || parameters.has(name)) return null
    parameters.set(name, parameter[2] ?? null)
  }
  return { path: match[1]!.replace(SOURCE_ROUTE, ''), parameters }
}
