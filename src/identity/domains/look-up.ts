// A look at DNS: every record of a domain, all at once, outside any transaction.
import type { Dns, DnsAnswer } from '../../platform/net/dns.ts'
import { judgeCname, judgeDkim, judgeDmarc, judgeMx, judgeSpf, spfReferences, type Verdict } from './judge.ts'
import { recordsOf, type Hosts } from './records.ts'
import type { Finding, Purpose, StoredDomain } from './stored-domain.ts'

/** Per record, what is in DNS judged, or why it gave no answer. */
export type Look = Record<Purpose, { verdict: Verdict } | { failure: string }>

export async function lookUp(dns: Dns, hosts: Hosts, domain: StoredDomain): Promise<Look> {
  const ask: Record<Purpose, (name: string) => Promise<Look[Purpose]>> = {
    spf: async name => bounded(await lookUpSpf(dns, name, hosts.SPF_HOST)),
    dkim: async name => judged(await dns.txt(name), texts => judgeDkim(texts, domain.dkim_public_key)),
    dmarc: async name => judged(await dns.txt(name), judgeDmarc),
    return_path: async name => judged(await dns.cname(name), targets => judgeCname(targets, hosts.RETURN_PATH_HOST)),
    mx: async name => judged(await dns.mx(name), records => judgeMx(records, hosts.MX_HOST)),
  }
  const looks = recordsOf(hosts, domain).map(async ({ purpose, name }) => [purpose, await ask[purpose](name)] as const)
  return Object.fromEntries(await Promise.all(looks)) as Look
}

function judged<T>(answer: DnsAnswer<T>, judge: (values: T[]) => Verdict): Look[Purpose] {
  if (answer.kind === 'failed') return { failure: answer.code }
  return bounded({ verdict: judge(answer.kind === 'found' ? answer.values : []) })
}

function bounded(look: Look[Purpose]): Look[Purpose] {
  if ('failure' in look) return look
  return { verdict: { ...look.verdict, found: look.verdict.found.slice(0, FOUND_MAX).map(storable) } }
}

/** DNS is published by strangers: what is kept of it is bounded. A DKIM key of 4096 bits has 750 characters. */
const FOUND_MAX = 10
const FOUND_CHARS_MAX = 1_000

/** PostgreSQL keeps neither NUL nor half a surrogate pair, and a control character would spoil a log or a terminal. */
const storable = (text: string): string =>
  text
    .slice(0, FOUND_CHARS_MAX)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\ufffd')

/** The new findings; where there was no answer the older finding stands, and says so. */
export function findingsOf(look: Look, before: Partial<Record<Purpose, Finding>>): Record<Purpose, Finding> {
  const findings = Object.entries(look).map(([purpose, result]) => {
    if ('verdict' in result) return [purpose, { ...result.verdict, isAnswered: true }]
    const { state = 'missing', found = [] } = before[purpose as Purpose] ?? {}
    const problem = `It could not be looked up (${result.failure}). Try again later.`
    return [purpose, { state, found, problem, isAnswered: false }]
  })
  return Object.fromEntries(findings) as Record<Purpose, Finding>
}

/** What the installation publishes itself needs no look. */
export function publishedFindings(hosts: Hosts, domain: Parameters<typeof recordsOf>[1]): Record<Purpose, Finding> {
  const findings = recordsOf(hosts, domain).map(({ purpose, value }) => {
    const finding: Finding = { state: 'ok', found: [value], problem: null, isAnswered: true }
    return [purpose, finding]
  })
  return Object.fromEntries(findings) as Record<Purpose, Finding>
}

/** A receiver asks no further either (RFC 7208 §4.6.4). */
const LOOK_UPS_MAX = 10

/** Looks for our host in the SPF record and in those that it includes or redirects to, as a receiver would. */
async function lookUpSpf(dns: Dns, name: string, host: string): Promise<Look[Purpose]> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return { failure: answer.code }
  const texts = answer.kind === 'found' ? answer.values : []
  const verdict = judgeSpf(texts, host)
  if (verdict.state !== 'wrong') return { verdict }
  const { isThere, failure } = await follow(dns, spfReferences(texts), host)
  if (isThere) return { verdict: { ...verdict, state: 'ok', problem: null } }
  // It may stand where nobody answered.
  return failure === null ? { verdict } : { failure }
}

async function follow(dns: Dns, references: readonly string[], host: string) {
  const known = new Set(references.filter(isPlain))
  let asked = 0
  let failure: string | null = null
  // A set that grows during the loop: whatever is referred to comes behind, and nothing is asked twice.
  for (const name of known) {
    if (++asked > LOOK_UPS_MAX) break
    const answer = await dns.txt(name)
    if (answer.kind === 'failed') failure = answer.code
    if (answer.kind !== 'found') continue
    const further = spfReferences(answer.values)
    if (further.includes(host)) return { isThere: true, failure: null }
    for (const each of further.filter(isPlain)) known.add(each)
  }
  return { isThere: false, failure }
}

/** A macro depends on the mail, so it cannot be followed here. */
const isPlain = (name: string): boolean => /^[a-z0-9._-]{1,253}$/.test(name)
