// What one mail may ask of DNS. A sender chooses the names that authentication looks up, so a mail has a number of questions
// and a time for all of them; beyond either, an answer counts as not to be had now.
import type { DnsReply, RecordType, Resolve } from '../../mail/authentication/resolve.ts'
import type { Dns } from '../../platform/net/dns.ts'

/** SPF may ask for ten hosts with ten addresses each, DMARC for eight names per domain; an honest mail needs ten at most. */
const QUESTIONS_MAX = 60
const TIMEOUT_MS = 15_000

interface Limits {
  questionsMax?: number
  timeoutMs?: number
}

/** For one mail: its limits begin now. Answers of earlier mails are used while they are fresh, and count. */
export function mailDns(dns: Dns, { questionsMax = QUESTIONS_MAX, timeoutMs = TIMEOUT_MS }: Limits = {}): Resolve {
  const until = performance.now() + timeoutMs
  let questions = 0
  return (name, type) => {
    questions++
    if (questions > questionsMax) return LIMITED
    const answer = ask(dns, name, type)
    if (!(answer instanceof Promise)) return answer
    const left = until - performance.now()
    return left > 0 ? within(answer, left) : LATE
  }
}

const LIMITED: DnsReply = { kind: 'failed', code: 'LIMIT', reason: 'the mail needs too many look-ups' }
const LATE: DnsReply = { kind: 'failed', code: 'TIMEOUT', reason: 'look-ups for the mail took too long' }

function ask({ cached }: Dns, name: string, type: RecordType): DnsReply | Promise<DnsReply> {
  switch (type) {
    case 'TXT':
      return cached.txt(name)
    case 'A':
      return cached.ipv4(name)
    case 'AAAA':
      return cached.ipv6(name)
    case 'MX':
      return cached.mx(name)
    case 'PTR':
      return cached.ptr(name)
    case 'CNAME':
      return cached.cname(name)
  }
}

async function within(answer: Promise<DnsReply>, milliseconds: number): Promise<DnsReply> {
  const { promise: late, resolve } = Promise.withResolvers<DnsReply>()
  const timer = setTimeout(() => resolve(LATE), milliseconds)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
