// How authentication asks DNS: by a function that its caller gives, which keeps the limits of look-ups and time. An answer is
// found, or surely none, or not to be had now; only the third is a temporary error.

export type RecordType = 'TXT' | 'A' | 'AAAA' | 'MX' | 'PTR' | 'CNAME'

interface MxValue {
  host: string
  priority: number
}

export type DnsReply =
  | { kind: 'found'; values: readonly (string | MxValue)[] }
  | { kind: 'none'; isNxdomain: boolean }
  | { kind: 'failed'; code: string; reason: string }

export type Resolve = (name: string, type: RecordType) => DnsReply | Promise<DnsReply>

/** The texts of a name. Several strings of one record are one text. */
export async function resolveTexts(resolve: Resolve, name: string): Promise<DnsReply & { values?: readonly string[] }> {
  return (await resolve(name, 'TXT')) as DnsReply & { values?: readonly string[] }
}

/** The same in the form that mailauth asks in: lists as node:dns gives them, and errors with its codes. */
export function libraryResolver(resolve: Resolve): (name: string, type: string) => Promise<never> {
  return async (name, type) => {
    const reply = await resolve(name, type as RecordType)
    if (reply.kind === 'found') return reply.values.map(value => libraryForm(value, type)) as never
    const code = reply.kind === 'failed' ? `E${reply.code}` : reply.isNxdomain ? 'ENOTFOUND' : 'ENODATA'
    throw Object.assign(new Error(reply.kind === 'failed' ? reply.reason : 'no such record'), { code })
  }
}

function libraryForm(value: string | MxValue, type: string): unknown {
  if (typeof value !== 'string') return { exchange: value.host, priority: value.priority }
  return type === 'TXT' ? [value] : value
}
