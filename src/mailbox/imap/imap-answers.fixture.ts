// What the mailbox provider of the tests says, word by word.

export interface FakeMailbox {
  path: string
  flags: string[]
  uidValidity: number
  uidNext: number
  messages: FakeMessage[]
}

export interface FakeMessage {
  uid: number
  flags: Set<string>
  internalDate: Date
  source: Buffer
  /** As it is told. */
  size: number
}

export const finish = (reply: string, tag: string): string =>
  reply.startsWith('!') ? `${tag} ${reply.slice(1)}\r\n` : `${reply}${tag} OK done\r\n`

export const unquoted = (text: string): string => text.replace(/^"(.*)"$/, '$1')

export function isWithin(uid: number, set: string, all: readonly FakeMessage[]): boolean {
  const last = all.at(-1)?.uid ?? 0
  return set.split(',').some(part => {
    const [from, to = from] = part.split(':').map(each => (each === '*' ? last : Number(each)))
    return uid >= Math.min(from!, to!) && uid <= Math.max(from!, to!)
  })
}

export function matches(message: FakeMessage, query: string, all: readonly FakeMessage[]): boolean {
  const set = /\bUID ([\d:*,]+)/.exec(query)?.[1]
  const id = /HEADER "?message-id"? "?([^"]+)"?/i.exec(query)?.[1]
  if (set && !isWithin(message.uid, set, all)) return false
  if (query.includes('UNSEEN') && message.flags.has('\\Seen')) return false
  return id === undefined || message.source.includes(id)
}

export function fetched({ uid, flags, internalDate, source, size }: FakeMessage, n: number, query: string): string {
  const parts = [`UID ${uid}`]
  if (query.includes('FLAGS')) parts.push(`FLAGS (${[...flags].join(' ')})`)
  if (query.includes('INTERNALDATE')) parts.push(`INTERNALDATE "${imapDate(internalDate)}"`)
  if (query.includes('RFC822.SIZE')) parts.push(`RFC822.SIZE ${size}`)
  const text = source.toString('latin1')
  const header = /^message-id:.*\r\n/im.exec(text)?.[0] ?? ''
  if (/HEADER\.FIELDS/i.test(query))
    parts.push(`BODY[HEADER.FIELDS (MESSAGE-ID)] {${header.length + 2}}\r\n${header}\r\n`)
  const part = /BODY\.PEEK\[\]<0\.(\d+)>/.exec(query)?.[1]
  const content = part ? text.slice(0, Number(part)) : text
  if (query.includes('BODY.PEEK[]')) parts.push(`BODY[]${part ? '<0>' : ''} {${content.length}}\r\n${content}`)
  return `* ${n} FETCH (${parts.join(' ')})\r\n`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function imapDate(date: Date): string {
  const day = String(date.getUTCDate()).padStart(2, ' ')
  return `${day}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()} ${date.toISOString().slice(11, 19)} +0000`
}
