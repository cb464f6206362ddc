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

/** Whether a UID is in the set. */
export function uidsIn(set: string, all: readonly FakeMessage[]): (uid: number) => boolean {
  const last = all.at(-1)?.uid ?? 0
  const singles = new Set<number>()
  const ranges: { from: number; to: number }[] = []
  for (const part of set.split(',')) {
    const [from, to] = part.split(':').map(each => (each === '*' ? last : Number(each)))
    if (to === undefined) singles.add(from!)
    else ranges.push({ from: Math.min(from!, to), to: Math.max(from!, to) })
  }
  return uid => singles.has(uid) || ranges.some(({ from, to }) => uid >= from && uid <= to)
}

/** Whether a message is what the search asks for. */
export function matching(query: string, all: readonly FakeMessage[]): (message: FakeMessage) => boolean {
  const set = /\bUID ([\d:*,]+)/.exec(query)?.[1]
  const isWithin = set === undefined ? () => true : uidsIn(set, all)
  const isUnseen = query.includes('UNSEEN')
  const id = /HEADER "?message-id"? "?([^"]+)"?/i.exec(query)?.[1]
  return ({ uid, flags, source }) =>
    isWithin(uid) && !(isUnseen && flags.has('\\Seen')) && (id === undefined || source.includes(id))
}

export function fetched({ uid, flags, internalDate, source, size }: FakeMessage, n: number, query: string): string {
  const parts = [`UID ${uid}`]
  if (query.includes('FLAGS')) parts.push(`FLAGS (${[...flags].join(' ')})`)
  if (query.includes('INTERNALDATE')) parts.push(`INTERNALDATE "${imapDate(internalDate)}"`)
  if (query.includes('RFC822.SIZE')) parts.push(`RFC822.SIZE ${size}`)
  if (/HEADER\.FIELDS/i.test(query)) {
    const header = /^message-id:.*\r\n/im.exec(source.toString('latin1'))?.[0] ?? ''
    parts.push(`BODY[HEADER.FIELDS (MESSAGE-ID)] {${header.length + 2}}\r\n${header}\r\n`)
  }
  if (query.includes('BODY.PEEK[]')) {
    const part = /BODY\.PEEK\[\]<0\.(\d+)>/.exec(query)?.[1]
    const content = source.toString('latin1', 0, part ? Number(part) : source.length)
    parts.push(`BODY[]${part ? '<0>' : ''} {${content.length}}\r\n${content}`)
  }
  return `* ${n} FETCH (${parts.join(' ')})\r\n`
}

function imapDate(date: Date): string {
  const [, day, month, year, time] = date.toUTCString().split(' ')
  return `${day}-${month}-${year} ${time} +0000`
}
