// What a mailbox provider found out about a mail when it received it, from the field that it wrote (RFC 8601). Only fields
// above the first one that the provider did not write are looked at: everything below is the sender's word.
import { organisationOf } from '../address/organisation.ts'
import { fieldSpans } from '../mime/headers.ts'
import type { ArcResult } from './arc.ts'
import type { Authentication } from './authenticate.ts'
import type { DmarcPolicy, DmarcResult } from './dmarc.ts'
import { servedBy } from './results-field.ts'
import type { SpfResult } from './spf.ts'
import type { DkimResult } from './verify-dkim.ts'

export type Receiver = 'google' | 'microsoft'

const HEADER_BYTES_READ = 64 * 1024 // what a provider writes on top is some ten kilobytes
const VALUE_CHARS_MAX = 8_192
const SIGNATURES_MAX = 10

const SERVERS: Record<Receiver, RegExp> = {
  google: /^(?:mx\.google\.com|[\w.-]+\.google\.com|[0-9a-f:]+)$/,
  microsoft: /^(?:[\w-]+\.)*(?:outlook\.com|hotmail\.com|office365\.com|exchangelabs\.com)$/,
}
const IDS: Record<Receiver, RegExp> = {
  google: /^mx\.google\.com$/,
  microsoft: /^(?:[\w-]+\.)*(?:outlook\.com|hotmail\.com|mx\.microsoft\.com)$/,
}
/** Beside `Received` and the results themselves. */
const WRITTEN: Record<Receiver, RegExp> = {
  google: /^(?:delivered-to|x-received|return-path|received-spf|x-google-[\w-]+|x-gm-[\w-]+|arc-[\w-]+)$/,
  microsoft: /^(?:return-path|received-spf|x-ms-[\w-]+|x-forefront-[\w-]+|x-microsoft-[\w-]+|x-eop[\w-]+|arc-[\w-]+)$/,
}

/** Null where the provider wrote none. */
export function receivedResults(source: Buffer, receiver: Receiver): Authentication | null {
  const block = source.toString('latin1', 0, HEADER_BYTES_READ)
  let wasReceived = false
  for (const { start, colon, end } of fieldSpans(block)) {
    const name = block.slice(start, colon).trimEnd().toLowerCase()
    const value = block.slice(colon + 1, Math.min(end, colon + VALUE_CHARS_MAX))
    if (name === 'received') {
      if (!isReceivedBy(value, receiver)) return null
      wasReceived = true
    } else if (name === 'authentication-results') {
      const isOwn = wasReceived && end - colon <= VALUE_CHARS_MAX && isWrittenBy(value, receiver)
      return isOwn ? parse(value) : null
    } else if (!WRITTEN[receiver].test(name)) return null
  }
  return null
}

/** Nobody has looked: so nothing is proven. */
export const UNKNOWN: Authentication = {
  spf: { result: 'none', domain: null, aligned: false },
  dkim: { result: 'none', signatures: [] },
  dmarc: { result: 'none', policy: null, domain: null },
  arc: { result: 'none' },
}

function isReceivedBy(value: string, receiver: Receiver): boolean {
  const by = /(?:^|\s)by\s+([\w.:-]{1,255})/i.exec(value)?.[1]
  return by !== undefined && SERVERS[receiver].test(by.toLowerCase())
}

/** Microsoft leaves its name out: the field begins with a result. */
function isWrittenBy(value: string, receiver: Receiver): boolean {
  if (receiver === 'microsoft' && /^\s*(?:spf|dkim|dmarc)=/i.test(value)) return true
  return IDS[receiver].test(servedBy(value) ?? '')
}

interface Method {
  result: string
  comment: string
  properties: ReadonlyMap<string, string>
}

function parse(value: string): Authentication {
  const parts = partsOf(value)
  if (!parts) return UNKNOWN
  const methods = parts.flatMap(methodOf)
  // Somebody whose address is quoted there has added one.
  if (ONCE.some(name => methods.filter(each => each.name === name).length > 1)) return UNKNOWN
  const first = (name: string): Method | null => methods.find(each => each.name === name)?.method ?? null
  const [spf, dmarc, arc] = [first('spf'), first('dmarc'), first('arc')]
  const author = domainIn(dmarc?.properties.get('header.from'))
  const isAligned = (domain: string | null): boolean =>
    author !== null && domain !== null && (domain === author || organisationOf(domain) === organisationOf(author))
  const signatures = methods
    .filter(({ name }) => name === 'dkim')
    .slice(0, SIGNATURES_MAX)
    .flatMap(({ method: { result, properties } }) => {
      const domain = domainIn(properties.get('header.d') ?? properties.get('header.i'))
      // A mail without a signature is told of as well.
      if (domain === null || result === 'none') return []
      const selector = properties.get('header.s') ?? ''
      return [{ domain, selector, result: oneOf(DKIM, result), aligned: isAligned(domain) }]
    })
  const domain = domainIn(spf?.properties.get('smtp.mailfrom'))
  const spfResult = oneOf(SPF, spf?.result)
  return {
    spf: { result: spfResult, domain, aligned: spfResult === 'pass' && isAligned(domain) },
    dkim: { result: DKIM.find(best => signatures.some(({ result }) => result === best)) ?? 'none', signatures },
    dmarc: { result: oneOf(DMARC, dmarc?.result), policy: policyIn(dmarc?.comment ?? ''), domain: author },
    arc: { result: oneOf(ARC, arc?.result) },
  }
}

// The best first; what is none of them proves nothing.
const SPF: readonly SpfResult[] = ['pass', 'fail', 'softfail', 'neutral', 'temperror', 'permerror', 'none']
const DKIM: readonly DkimResult[] = ['pass', 'temperror', 'fail', 'policy', 'permerror', 'neutral', 'none']
const DMARC: readonly DmarcResult[] = ['pass', 'fail', 'temperror', 'permerror', 'none']
const ARC: readonly ArcResult[] = ['pass', 'fail', 'temperror', 'none']

const oneOf = <Result extends string>(known: readonly Result[], given = 'none'): Result =>
  known.find(each => each === given) ?? known.at(-1)!

/** What is told once for a mail; signatures may be several. */
const ONCE = ['spf', 'dmarc', 'arc']

/**
 * Split where no comment and no quoted text is. What is quoted is the sender's own word, and left out. Null: an address with
 * quotes stands in a comment, and may have ended it.
 */
function partsOf(value: string): string[] | null {
  const parts = ['']
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!
    if (char === '\\' && (isQuoted || depth > 0)) {
      at++
      continue
    }
    if (char === '"' && depth > 0) return null
    if (char === '"') isQuoted = !isQuoted
    if (isQuoted) continue
    if (char === '(') depth++
    if (char === ')') depth = Math.max(0, depth - 1)
    if (char === ';' && depth === 0) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts
}

function methodOf(part: string): { name: string; method: Method }[] {
  const comment = /\(([^()]*)\)/.exec(part)?.[1] ?? ''
  const words = part.replaceAll(/\([^()]*\)/g, ' ').split(/\s+/)
  // Before the first result may stand the name of who says so.
  const at = words.findIndex(word => /^[a-z-]+=[a-z]+$/i.test(word))
  if (at === -1) return []
  const [name, result] = words[at]!.toLowerCase().split('=')
  const properties = new Map<string, string>()
  for (const word of words.slice(at + 1)) {
    const [, key, given] = /^([\w.-]{1,64})=(.{1,320})$/.exec(word) ?? []
    if (key && given && !properties.has(key.toLowerCase())) properties.set(key.toLowerCase(), given)
  }
  return [{ name: name!, method: { result: result!, comment, properties } }]
}

/** Of an address, or a bare one. */
function domainIn(value: string | undefined): string | null {
  const domain = value?.replaceAll('"', '').split('@').at(-1)!.toLowerCase().replace(/\.$/, '') ?? ''
  return /^[\w.-]{1,253}$/.test(domain) ? domain : null
}

function policyIn(comment: string): DmarcPolicy | null {
  const policy = /\bp=(none|quarantine|reject)\b/i.exec(comment)?.[1]?.toLowerCase()
  return (policy as DmarcPolicy | undefined) ?? null
}
