// The one DNS client. An answer is found, or surely none, or not to be had now: nothing may be taken away from anybody, and
// no message may bounce, because of the third. `cached` keeps answers for a while and shares questions under way; the
// others ask afresh each time.
import { lookup, Resolver } from 'node:dns/promises'
import { systemClock, type Clock } from '../clock.ts'
import { inTime } from '../in-time.ts'
import { SharedCache, type Loaded } from '../shared-cache.ts'
import { isSigned, type SignedType } from './dnssec.ts'

export type DnsAnswer<T> =
  | { kind: 'found'; values: T[] }
  /** `isNxdomain`: the name itself does not exist, whatever the type. */
  | { kind: 'none'; isNxdomain: boolean }
  /** `code` is what went wrong, in the words of DNS: SERVFAIL, TIMEOUT, REFUSED…; `reason` says it to people. */
  | { kind: 'failed'; code: string; reason: string }

export interface MxHost {
  host: string
  priority: number
}

/** One TLSA record as published (RFC 6698 §2.1). */
export interface Tlsa {
  /** 2: an authority that must have signed the host's certificate; 3: the host's certificate itself. */
  usage: number
  /** 0: the whole certificate; 1: its public key. */
  selector: number
  /** 0: the bytes; 1: their SHA-256; 2: their SHA-512. */
  matching: number
  data: Buffer
}

interface DnsOptions {
  /** `ip` or `ip:port`; none means those of the system. Named ones are believed when they call an answer signed. */
  servers: readonly string[]
  timeoutMs?: number
  clock?: Clock
}

/** For one question, all servers and tries together. */
const TIMEOUT_MS = 10_000
// Addresses carry their time to live, held within these bounds: a shorter one would ask on every connection, a longer
// one would outlive a move. MX, TXT and TLSA come from node:dns without one and are kept for the time between.
const TTL_MS_MIN = 60_000
const TTL_MS_MAX = 300_000
export const RECORD_TTL_MS = 120_000
export const NEGATIVE_TTL_MS = 30_000
const ENTRIES_MAX = 50_000
/** So long nothing but failures, and it is not the fault of single names. */
const SILENT_MS = 120_000
const ALIASES_MAX = 9 // resolvers themselves give up after eight to sixteen

export class Dns {
  readonly cached: {
    addresses: Cached
    txt: Cached
    mx: Cached<MxHost>
    /** One family alone, so that the failure of one look-up is not hidden by the answer of the other. */
    ipv4: Cached
    ipv6: Cached
    /** The names of an address, asked by its reverse name. */
    ptr: Cached
    cname: Cached
  }
  readonly #resolver: Resolver
  readonly #timeoutMs: number
  readonly #isNamed: boolean
  #hasAnswered = false
  /** Since the last answer; null where nothing has failed since. */
  #failingSince: number | null = null

  constructor({ servers, timeoutMs = TIMEOUT_MS, clock = systemClock() }: DnsOptions) {
    this.#isNamed = servers.length > 0
    this.#timeoutMs = timeoutMs
    // Two tries, the second with twice the time, fit into the whole.
    this.#resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 3)), tries: 2 })
    if (servers.length > 0) this.#resolver.setServers(servers)
    const shared = { clock, entriesMax: ENTRIES_MAX }
    const addresses = new SharedCache({ ...shared, load: name => this.#loadAddresses(name) })
    const cache = <T>(ask: (name: string) => Promise<DnsAnswer<T>>): Cached<T> => {
      const answers = new SharedCache({ ...shared, load: async (name: string) => kept(await ask(name)) })
      return name => answers.get(name)
    }
    this.cached = {
      addresses: name => addresses.get(name),
      txt: cache(name => this.txt(name)),
      mx: cache(name => this.mx(name)),
      ipv4: cache(name => this.#ask(name, () => this.#resolver.resolve4(name))),
      ipv6: cache(name => this.#ask(name, () => this.#resolver.resolve6(name))),
      ptr: cache(name => this.#ask(name, () => this.#resolver.resolvePtr(name))),
      cname: cache(name => this.cname(name)),
    }
  }

  /** The resolver itself is away: it has answered nothing for minutes, or since the start. */
  get isSilent(): boolean {
    if (this.#failingSince === null) return false
    return !this.#hasAnswered || performance.now() - this.#failingSince > SILENT_MS
  }

  /** The strings of one record belong together: 255 bytes are the most that one can hold (RFC 7208 §3.3). */
  async txt(name: string): Promise<DnsAnswer<string>> {
    return mapped(await this.#ask(name, () => this.#resolver.resolveTxt(name)), strings => strings.join(''))
  }

  /** The target of an alias. */
  async cname(name: string): Promise<DnsAnswer<string>> {
    return mapped(await this.#ask(name, () => this.#resolver.resolveCname(name)), hostOf)
  }

  /** Hosts that take mail, the preferred first. */
  async mx(name: string): Promise<DnsAnswer<MxHost>> {
    const answer = await this.#ask(name, () => this.#resolver.resolveMx(name))
    if (answer.kind === 'none' && !answer.isNxdomain) return await this.#unlessLooping(name, answer)
    if (answer.kind !== 'found') return answer
    const values = answer.values.map(({ exchange, priority }) => ({ host: hostOf(exchange), priority }))
    return { kind: 'found', values: values.toSorted((left, right) => left.priority - right.priority) }
  }

  async tlsa(name: string): Promise<DnsAnswer<Tlsa>> {
    const answer = await this.#ask(name, () => this.#resolver.resolveTlsa(name))
    return mapped(answer, ({ certUsage, selector, match, data }) => ({
      usage: certUsage,
      selector,
      matching: match,
      data: Buffer.from(data as ArrayBuffer),
    }))
  }

  /**
   * The resolver has validated what it says of the name (DNSSEC); null: it says nothing. Never where nobody has named the
   * resolvers.
   */
  async isSigned(name: string, type: SignedType): Promise<boolean | null> {
    if (!this.#isNamed) return false
    return isSigned({ name, type, servers: this.#resolver.getServers(), timeoutMs: this.#timeoutMs })
  }

  /** IPv6 first, then IPv4, each in the order DNS gave them. */
  async addresses(name: string, timeoutMs = this.#timeoutMs): Promise<DnsAnswer<string>> {
    return (await this.#loadAddresses(name, timeoutMs)).value
  }

  /** As the machine itself would look the name up, its hosts file included: for next hops named by the operator. */
  async systemAddresses(name: string): Promise<DnsAnswer<string>> {
    return mapped(await this.#ask(name, () => lookup(name, { all: true })), ({ address }) => address)
  }

  async #loadAddresses(name: string, timeoutMs = this.#timeoutMs): Promise<Loaded<DnsAnswer<string>>> {
    const [six, four] = await Promise.all([
      this.#ask(name, () => this.#resolver.resolve6(name, { ttl: true }), timeoutMs),
      this.#ask(name, () => this.#resolver.resolve4(name, { ttl: true }), timeoutMs),
    ])
    const found = [six, four].flatMap(answer => (answer.kind === 'found' ? answer.values : []))
    if (found.length > 0) {
      const ttlMs = 1000 * found.reduce((least, { ttl }) => Math.min(least, ttl), Infinity)
      const value = { kind: 'found', values: found.map(({ address }) => address) } as const
      return { value, ttlMs: Math.min(Math.max(ttlMs, TTL_MS_MIN), TTL_MS_MAX) }
    }
    // No to one family proves nothing while the other has not answered.
    const failed = [six, four].find(answer => answer.kind === 'failed')
    const isNxdomain = [six, four].some(answer => answer.kind === 'none' && answer.isNxdomain)
    const none: DnsAnswer<string> = failed ?? { kind: 'none', isNxdomain }
    return kept(failed ? none : await this.#unlessLooping(name, none))
  }

  /** Aliases that lead in a circle look like "no such record". They are a mistake in progress, not an answer. */
  async #unlessLooping<T>(name: string, none: DnsAnswer<T>): Promise<DnsAnswer<T>> {
    const seen = new Set([name])
    let current = name
    while (seen.size < ALIASES_MAX) {
      const answer = await this.#ask(current, () => this.#resolver.resolveCname(current))
      if (answer.kind === 'failed') return answer
      if (answer.kind === 'none') return none
      current = answer.values[0]!.toLowerCase()
      if (seen.has(current)) break
      seen.add(current)
    }
    return { kind: 'failed', code: 'CNAMELOOP', reason: 'its aliases (CNAME) lead in a circle' }
  }

  async #ask<T>(name: string, question: () => Promise<T[]>, timeoutMs = this.#timeoutMs): Promise<DnsAnswer<T>> {
    // The resolver's library lets two more characters through than a name can have, and servers call that a mistake of ours.
    if (hostOf(name).length > NAME_CHARS_MAX) return { kind: 'none', isNxdomain: true }
    const answer = await this.#reply(question(), timeoutMs)
    if (answer.kind === 'failed') this.#failingSince ??= performance.now()
    else {
      this.#hasAnswered = true
      this.#failingSince = null
    }
    return answer
  }

  async #reply<T>(question: Promise<T[]>, timeoutMs: number): Promise<DnsAnswer<T>> {
    try {
      // The resolver has its own time-outs, per try and per server; this one is for all of them together.
      const values = await inTime(timeoutMs, question, timedOut)
      // A reply that holds other types only, such as an alias without its target, comes as an empty list.
      return values.length > 0 ? { kind: 'found', values } : { kind: 'none', isNxdomain: false }
    } catch (error) {
      const code = ((error as NodeJS.ErrnoException).code ?? 'EUNKNOWN').replace(/^E/, '')
      if (code === 'NODATA') return { kind: 'none', isNxdomain: false }
      // A name that cannot be asked for cannot exist either.
      if (code === 'NOTFOUND' || code === 'BADNAME') return { kind: 'none', isNxdomain: true }
      return { kind: 'failed', code, reason: REASONS[code] ?? `look-up failed (${code})` }
    }
  }
}

/** The answer itself when it is known, so that a hot path waits for nothing. */
type Cached<T = string> = (name: string) => DnsAnswer<T> | Promise<DnsAnswer<T>>

const REASONS: Record<string, string> = {
  SERVFAIL: 'its name servers failed to answer',
  TIMEOUT: 'look-up timed out',
  REFUSED: 'its name servers refused to answer',
}

/** 255 bytes on the wire (RFC 1035 §2.3.4). */
const NAME_CHARS_MAX = 253

const hostOf = (name: string): string => name.toLowerCase().replace(/\.$/, '')

const mapped = <From, To>(answer: DnsAnswer<From>, map: (value: From) => To): DnsAnswer<To> =>
  answer.kind === 'found' ? { kind: 'found', values: answer.values.map(value => map(value)) } : answer

const kept = <T>(value: DnsAnswer<T>): Loaded<DnsAnswer<T>> => ({
  value,
  ttlMs: value.kind === 'found' ? RECORD_TTL_MS : NEGATIVE_TTL_MS,
})

const timedOut = (): never => {
  throw Object.assign(new Error('look-up timed out'), { code: 'ETIMEOUT' })
}
