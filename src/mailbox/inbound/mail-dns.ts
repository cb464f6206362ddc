// What one mail may ask of DNS. A sender chooses the names that authentication looks up, so each check has a number of
// questions and a time for all of them. The look-ups of DMARC are about the author, whom the sender may have made up: they
// have limits of their own, which the sender's records cannot use up.
import type { DnsReply, Resolve, Resolvers } from '../../mail/authentication/resolve.ts'
import { inTime } from '../../platform/in-time.ts'
import type { Dns } from '../../platform/net/dns.ts'

/** SPF may ask for ten hosts with ten addresses each, signatures and seals for 61 keys. An honest mail needs ten in all. */
const SENDER_LIMITS: Limits = { questionsMax: 65, timeoutMs: 15_000 }
/** Eight names from the author's domain up, whether it exists, and as many names again of proofs below it (RFC 9989 §4.10). */
const AUTHOR_LIMITS: Limits = { questionsMax: 20, timeoutMs: 10_000 }

interface Limits {
  questionsMax: number
  timeoutMs: number
}

/** For one mail. Answers of earlier mails are used while they are fresh, and count. */
export function mailDns(dns: Dns, limits: Partial<Limits> = {}): Resolvers {
  // A question has a time of its own, which is shorter. So it was several slow answers that took so long, and they are of
  // names that the sender has chosen, unless it is the resolver that answers nobody.
  const tooLate = (): DnsReply => (dns.isSilent ? LATE : LIMITED)
  const ofSender = (): Resolve => within({ ...SENDER_LIMITS, ...limits }, { dns, tooLate })
  // The author's own name servers are slow: that may pass.
  return {
    spf: ofSender(),
    keys: ofSender(),
    dmarc: within({ ...AUTHOR_LIMITS, ...limits }, { dns, tooLate: () => LATE }),
  }
}

const LIMITED: DnsReply = { kind: 'limited', reason: 'the mail needs too many look-ups, or too long for them' }
const LATE: DnsReply = { kind: 'failed', code: 'TIMEOUT', reason: 'look-ups for the mail took too long' }

interface Asked {
  dns: Dns
  /** What a question is answered once the time is over. */
  tooLate: () => DnsReply
}

/** The time begins with the first question. */
function within({ questionsMax, timeoutMs }: Limits, { dns, tooLate }: Asked): Resolve {
  let until: number | null = null
  let questions = 0
  // A timer may fire a moment early. Once the time is over, it stays so.
  const endNow = (): DnsReply => {
    until = 0
    return tooLate()
  }
  return (name, type) => {
    questions++
    if (questions > questionsMax) return LIMITED
    until ??= performance.now() + timeoutMs
    const answer = dns.cached[ASKED[type]](name)
    if (!(answer instanceof Promise)) return answer
    const left = until - performance.now()
    return left > 0 ? inTime(left, answer, endNow) : tooLate()
  }
}

/** The questions of the cache by the types of their records. */
const ASKED = { TXT: 'txt', A: 'ipv4', AAAA: 'ipv6', MX: 'mx', PTR: 'ptr', CNAME: 'cname' } as const
