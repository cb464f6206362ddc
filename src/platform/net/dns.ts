// Questions to DNS, asked afresh each time. An answer is found, or surely none, or not to be had now: nothing may be
// taken away from anybody because of the third.
import { Resolver } from 'node:dns/promises'

export type DnsAnswer<T> =
  | { kind: 'found'; values: T[] }
  | { kind: 'none' }
  /** `code` is what went wrong, in the words of DNS: SERVFAIL, TIMEOUT, REFUSED… */
  | { kind: 'failed'; code: string }

export interface DnsOptions {
  /** `ip` or `ip:port`; none means those of the system. */
  servers: readonly string[]
  timeoutMs?: number
}

/** For one question, all servers and tries together. */
const TIMEOUT_MS = 10_000

export class Dns {
  readonly #resolver: Resolver
  readonly #timeoutMs: number

  constructor({ servers, timeoutMs = TIMEOUT_MS }: DnsOptions) {
    this.#timeoutMs = timeoutMs
    // Two tries, the second with twice the time, fit into the whole.
    this.#resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 3)), tries: 2 })
    if (servers.length > 0) this.#resolver.setServers(servers)
  }

  /** The strings of one record belong together: 255 bytes are the most that one can hold (RFC 7208 §3.3). */
  async txt(name: string): Promise<DnsAnswer<string>> {
    const answer = await this.#ask(this.#resolver.resolveTxt(name))
    return answer.kind === 'found' ? { kind: 'found', values: answer.values.map(strings => strings.join('')) } : answer
  }

  /** The target of an alias. */
  async cname(name: string): Promise<DnsAnswer<string>> {
    const answer = await this.#ask(this.#resolver.resolveCname(name))
    return answer.kind === 'found' ? { kind: 'found', values: answer.values.map(hostOf) } : answer
  }

  /** Hosts that take mail, the preferred first. */
  async mx(name: string): Promise<DnsAnswer<{ host: string; priority: number }>> {
    const answer = await this.#ask(this.#resolver.resolveMx(name))
    if (answer.kind !== 'found') return answer
    const values = answer.values.map(({ exchange, priority }) => ({ host: hostOf(exchange), priority }))
    return { kind: 'found', values: values.toSorted((left, right) => left.priority - right.priority) }
  }

  /**
   * Where a host is, IPv4 and IPv6. `localhost` and `invalid` are answered here: no resolver may be asked for them (RFC
   * 6761 §6.3, §6.4).
   */
  async addresses(name: string): Promise<DnsAnswer<string>> {
    if (/(^|\.)localhost\.?$/i.test(name)) return { kind: 'found', values: ['127.0.0.1'] }
    if (/(^|\.)invalid\.?$/i.test(name)) return { kind: 'none' }
    const [four, six] = await Promise.all([
      this.#ask(this.#resolver.resolve4(name)),
      this.#ask(this.#resolver.resolve6(name)),
    ])
    const values = [four, six].flatMap(answer => (answer.kind === 'found' ? answer.values : []))
    if (values.length > 0) return { kind: 'found', values }
    // No to one family proves nothing while the other has not answered.
    return [four, six].find(answer => answer.kind === 'failed') ?? { kind: 'none' }
  }

  async #ask<T>(question: Promise<T[]>): Promise<DnsAnswer<T>> {
    try {
      const values = await within(question, this.#timeoutMs)
      // A reply that holds other types only, such as an alias without its target, comes as an empty list.
      return values.length > 0 ? { kind: 'found', values } : { kind: 'none' }
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
      return NONE_CODES.has(code) ? { kind: 'none' } : { kind: 'failed', code: code.replace(/^E/, '') }
    }
  }
}

/** No such name, no such record at that name, and a name that cannot exist. */
const NONE_CODES = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

const hostOf = (name: string): string => name.toLowerCase().replace(/\.$/, '')

/** The resolver has its own time-outs, per try and per server; this one is for all of them together. */
async function within<T>(question: Promise<T>, milliseconds: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(Object.assign(new Error('no answer'), { code: 'ETIMEOUT' })), milliseconds)
  try {
    return await Promise.race([question, late])
  } finally {
    clearTimeout(timer)
  }
}
