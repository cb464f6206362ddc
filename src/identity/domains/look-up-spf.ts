// Looking for our host in a domain's SPF record and in those that it includes or redirects to, as a receiver would.
import type { Dns } from '../../platform/net/dns.ts'
import { judgeSpf, spfReferences, type Verdict } from './judge.ts'

/** A receiver asks no further either (RFC 7208 §4.6.4). */
const LOOK_UPS_MAX = 10

type SpfLook = { verdict: Verdict } | { failure: string }

export async function lookUpSpf(dns: Dns, name: string, host: string): Promise<SpfLook> {
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

async function follow(
  dns: Dns,
  references: readonly string[],
  host: string,
): Promise<{ isThere: boolean; failure: string | null }> {
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
