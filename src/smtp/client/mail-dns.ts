// The questions that mail asks of DNS. An answer is found, or surely none, or not to be had now: only the second may
// ever bounce a message. Answers are kept for a while and shared.
import { lookup, Resolver } from 'node:dns/promises'
import type { Clock } from '../../platform/clock.ts'
import type { Tlsa } from './dane.ts'
import { SharedCache, type Loaded } from './shared-cache.ts'

export type Answer<T> =
  | { kind: 'found'; value: T }
  | { kind: 'none'; isNxdomain: boolean }
  | { kind: 'failed'; reason: string; code: string }

export interface MxRecord {
  exchange: string
  preference: number
}

export interface MailDnsOptions {
  servers: readonly string[]
  timeoutMs: number
  clock: Clock
}

// Addresses carry their time to live, held within these bounds: a shorter one would ask on every connection, a longer
// one would outlive a move. MX, TXT and TLSA come from node:dns without one and are kept for the time between.
const TTL_MS_MIN = 60_000
const TTL_MS_MAX = 300_000
export const RECORD_TTL_MS = 120_000
export const NEGATIVE_TTL_MS = 30_000
const ENTRIES_MAX = 50_000

export class MailDns {
  readonly #resolver: Resolver
  readonly #timeoutMs: number
  readonly #addresses: SharedCache<Answer<string[]>>
  readonly #txt: SharedCache<Answer<string[][]>>

  constructor({ servers, timeoutMs, clock }: MailDnsOptions) {
    this.#timeoutMs = timeoutMs
    // Two tries, the second with twice the time, fit into the whole.
    this.#resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 3)), tries: 2 })
    if (servers.length > 0) this.#resolver.setServers(servers)
    const shared = { clock, entriesMax: ENTRIES_MAX }
    this.#addresses = new SharedCache({ ...shared, load: name => this.#loadAddresses(name) })
    this.#txt = new SharedCache({
      ...shared,
      load: async name => kept(await this.#ask(this.#resolver.resolveTxt(name))),
    })
  }

  /** Not kept here: what is made of it is (`NextHops`). */
  async mx(name: string): Promise<Answer<MxRecord[]>> {
    const answer = await this.#ask(this.#resolver.resolveMx(name))
    if (answer.kind === 'none' && !answer.isNxdomain) return await this.#unlessLooping(name, answer)
    if (answer.kind !== 'found') return answer
    const records = answer.value.map(({ exchange, priority }) => ({
      exchange: exchange.toLowerCase().replace(/\.$/, ''),
      preference: priority,
    }))
    return { kind: 'found', value: records }
  }

  /** IPv6 first, then IPv4, each in the order DNS gave them. */
  addresses(name: string): Answer<string[]> | Promise<Answer<string[]>> {
    return this.#addresses.get(name)
  }

  /** As the machine itself would look the name up, its hosts file included: for next hops named by the operator. */
  async systemAddresses(name: string): Promise<Answer<string[]>> {
    const answer = await this.#ask(lookup(name, { all: true }))
    return answer.kind === 'found' ? { ...answer, value: answer.value.map(({ address }) => address) } : answer
  }

  txt(name: string): Answer<string[][]> | Promise<Answer<string[][]>> {
    return this.#txt.get(name)
  }

  /** Not kept here: what is made of it is (`TlsPolicies`). */
  async tlsa(name: string): Promise<Answer<Tlsa[]>> {
    const answer = await this.#ask(this.#resolver.resolveTlsa(name))
    if (answer.kind !== 'found') return answer
    const value = answer.value.map(({ certUsage, selector, match, data }) => ({
      usage: certUsage,
      selector,
      matching: match,
      data: Buffer.from(data as ArrayBuffer),
    }))
    return { kind: 'found', value }
  }

  async #loadAddresses(name: string): Promise<Loaded<Answer<string[]>>> {
    const [six, four] = await Promise.all([
      this.#ask(this.#resolver.resolve6(name, { ttl: true })),
      this.#ask(this.#resolver.resolve4(name, { ttl: true })),
    ])
    const found = [six, four].flatMap(answer => (answer.kind === 'found' ? answer.value : []))
    if (found.length > 0) {
      const ttlMs = 1000 * found.reduce((least, { ttl }) => Math.min(least, ttl), Infinity)
      const value = { kind: 'found', value: found.map(({ address }) => address) } as const
      return { value, ttlMs: Math.min(Math.max(ttlMs, TTL_MS_MIN), TTL_MS_MAX) }
    }
    // No to one family proves nothing while the other has not answered.
    const failed = [six, four].find(answer => answer.kind === 'failed')
    const isNxdomain = [six, four].some(answer => answer.kind === 'none' && answer.isNxdomain)
    const none: Answer<string[]> = failed ?? { kind: 'none', isNxdomain }
    return kept(failed ? none : await this.#unlessLooping(name, none))
  }

  /** Aliases that lead in a circle look like "no such record". They are a mistake in progress, not an answer. */
  async #unlessLooping<T>(name: string, none: Answer<T>): Promise<Answer<T>> {
    const seen = new Set([name])
    let current = name
    while (seen.size < ALIASES_MAX) {
      const answer = await this.#ask(this.#resolver.resolveCname(current))
      if (answer.kind === 'failed') return answer
      if (answer.kind === 'none') return none
      current = answer.value[0]!.toLowerCase()
      if (seen.has(current)) break
      seen.add(current)
    }
    return { kind: 'failed', reason: 'its aliases (CNAME) lead in a circle', code: 'ECNAMELOOP' }
  }

  async #ask<R>(question: Promise<R[]>): Promise<Answer<R[]>> {
    try {
      const records = await within(question, this.#timeoutMs)
      // A reply that holds other types only, such as an alias without its target, comes as an empty list.
      return records.length > 0 ? { kind: 'found', value: records } : { kind: 'none', isNxdomain: false }
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
      if (code === 'ENODATA') return { kind: 'none', isNxdomain: false }
      // A name that cannot be asked for cannot exist either.
      if (code === 'ENOTFOUND' || code === 'EBADNAME') return { kind: 'none', isNxdomain: true }
      return { kind: 'failed', reason: FAILED_REASONS[code] ?? `look-up failed (${code})`, code }
    }
  }
}

const ALIASES_MAX = 9 // resolvers themselves give up after eight to sixteen

const FAILED_REASONS: Record<string, string> = {
  ESERVFAIL: 'its name servers failed to answer',
  ETIMEOUT: 'look-up timed out',
  EREFUSED: 'its name servers refused to answer',
}

const kept = <T>(value: Answer<T>): Loaded<Answer<T>> => ({
  value,
  ttlMs: value.kind === 'found' ? RECORD_TTL_MS : NEGATIVE_TTL_MS,
})

/** The resolver has its own time-outs, per try and per server; this one is for all of them together. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(Object.assign(new Error('look-up timed out'), { code: 'ETIMEOUT' })), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
