// How authentication asks DNS: by functions that its caller gives, which keep the limits of look-ups and time. An answer is
// found, or surely none, or not to be had now, or beyond the limits; only the third is a temporary error.

export type RecordType = 'TXT' | 'A' | 'AAAA' | 'MX' | 'PTR' | 'CNAME'

interface MxValue {
  host: string
  priority: number
}

export type DnsReply =
  | { kind: 'found'; values: readonly (string | MxValue)[] }
  | { kind: 'none'; isNxdomain: boolean }
  | { kind: 'failed'; code: string; reason: string }
  /** The sender's own records have used up what the mail may ask. To ask again later would not help. */
  | { kind: 'limited'; reason: string }

export type Resolve = (name: string, type: RecordType) => DnsReply | Promise<DnsReply>

/** Each check asks within limits of its own: a sender who uses up those of one check takes nothing from the others. */
export interface Resolvers {
  spf: Resolve
  /** Keys of DKIM and ARC. */
  keys: Resolve
  dmarc: Resolve
}

/** The same answers, each told of as it comes. */
export const observed =
  (resolve: Resolve, see: (reply: DnsReply, type: RecordType) => void): Resolve =>
  async (name, type) => {
    const reply = await resolve(name, type)
    see(reply, type)
    return reply
  }

/** The texts of a name. Several strings of one record are one text. */
export async function resolveTexts(resolve: Resolve, name: string): Promise<DnsReply & { values?: readonly string[] }> {
  return (await resolve(name, 'TXT')) as DnsReply & { values?: readonly string[] }
}

/** The same in the form that mailauth asks in: lists as node:dns gives them, and errors with its codes. */
export function libraryResolver(resolve: Resolve): (name: string, type: string) => Promise<never> {
  return async (name, type) => {
    const reply = await resolve(name, type as RecordType)
    if (reply.kind === 'found') return reply.values.map(value => libraryForm(value, type)) as never
    throw Object.assign(new Error('reason' in reply ? reply.reason : 'no such record'), { code: libraryCode(reply) })
  }
}

function libraryCode(reply: Exclude<DnsReply, { kind: 'found' }>): string {
  switch (reply.kind) {
    case 'none':
      return reply.isNxdomain ? 'ENOTFOUND' : 'ENODATA'
    case 'failed':
      return `E${reply.code}`
    case 'limited':
      return 'ELIMIT'
  }
}

function libraryForm(value: string | MxValue, type: string): unknown {
  if (typeof value !== 'string') return { exchange: value.host, priority: value.priority }
  return type === 'TXT' ? [value] : value
}
