// Whether what is in DNS is what should be there, record by record. Pure: values in, verdict out.
import type { Finding } from './stored-domain.ts'

export type Verdict = Omit<Finding, 'isAnswered'>

/** One record, with our include in the part that receivers evaluate. What else it allows is the owner's affair. */
export function judgeSpf(texts: readonly string[], host: string): Verdict {
  const found = texts.filter(isSpf)
  if (found.length === 0) return missing()
  if (found.length > 1) {
    // RFC 7208 §4.5: more than one is a permanent error, as if there were none.
    return wrong(found, 'There are several SPF records, so receivers heed none. Merge them into one.')
  }
  return spfReferences(texts).includes(host)
    ? ok(found)
    : wrong(found, `Add include:${host} to the record, before its all.`)
}

const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text)

/** The names whose records count as part of this one: what it includes, and where it redirects to. */
export function spfReferences(texts: readonly string[]): string[] {
  const records = texts.filter(isSpf)
  if (records.length !== 1) return []
  const terms = records[0]!.toLowerCase().split(/ +/)
  // `all` matches always: nothing behind it is ever looked at, and a redirect beside it is ignored (RFC 7208 §5.1, §6.1).
  const end = terms.findIndex(term => /^[+?~-]?all$/.test(term))
  const heeded = end === -1 ? terms : terms.slice(0, end)
  const named = heeded.map(term => /^\+?include:(.+)$/.exec(term)?.[1])
  const redirect = end === -1 ? terms.map(term => /^redirect=(.+)$/.exec(term)?.[1]) : []
  return [...named, ...redirect].filter(name => name !== undefined).map(name => name.replace(/\.$/, ''))
}

/** Compared by its key: spacing, order and further tags are the owner's affair. */
export function judgeDkim(texts: readonly string[], publicKey: string): Verdict {
  const found = [...texts]
  if (found.length === 0) return missing()
  const keys = found.map(tagsOf).filter(tags => tags.has('p'))
  // RFC 6376 §3.6.2.2: with several, the outcome is undefined.
  if (keys.length > 1) return wrong(found, 'There are several keys at this name. Keep the one given here.')
  const [tags] = keys
  if (!tags) return wrong(found, 'There is a TXT record at this name, but no DKIM key in it.')
  if ((tags.get('v') ?? 'DKIM1') !== 'DKIM1') return wrong(found, 'The record must begin with v=DKIM1.')
  if (tags.get('p') !== publicKey) return wrong(found, 'Another key is published at this name.')
  return ok(found)
}

const POLICIES = new Set(['none', 'quarantine', 'reject'])

/** Any valid record passes: which policy to publish is the owner's decision. */
export function judgeDmarc(texts: readonly string[]): Verdict {
  const found = [...texts]
  if (found.length === 0) return missing()
  const records = found.filter(text => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text))
  const [record, second] = records
  if (record === undefined)
    return wrong(found, 'There is a TXT record at this name, but it does not begin with v=DMARC1.')
  if (second !== undefined) return wrong(found, 'There are several DMARC records, so receivers heed none. Keep one.')
  const policy = tagsOf(record).get('p')?.toLowerCase()
  return policy !== undefined && POLICIES.has(policy)
    ? ok(found)
    : wrong(found, 'The record lacks its policy: p=none, p=quarantine or p=reject.')
}

export function judgeCname(targets: readonly string[], host: string): Verdict {
  if (targets.length === 0) return missing()
  return targets.includes(host) ? ok([...targets]) : wrong([...targets], `The name must be an alias of ${host}.`)
}

/** Others beside ours are let be: the owner may keep a spare host. */
export function judgeMx(records: readonly { host: string; priority: number }[], host: string): Verdict {
  const found = records.map(record => `${record.priority} ${record.host}`)
  if (found.length === 0) return missing()
  return records.some(record => record.host === host)
    ? ok(found)
    : wrong(found, `Mail for this name goes elsewhere. Add an MX record with ${host}.`)
}

const ok = (found: string[]): Verdict => ({ state: 'ok', found, problem: null })
const wrong = (found: string[], problem: string): Verdict => ({ state: 'wrong', found, problem })
const missing = (): Verdict => ({ state: 'missing', found: [], problem: 'Nothing is published at this name yet.' })

/** `a=1; b=2` with blanks anywhere, also inside values: people fold long keys (RFC 6376 §3.2). */
function tagsOf(text: string): Map<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at > 0 && !tags.has(name)) tags.set(name, part.slice(at + 1).replaceAll(/\s/g, ''))
  }
  return tags
}
