// Configuration: environment variables, one schema, every one optional. A bad value stops the start with one clear line
// per mistake. This is the only file that reads the environment.
import { Resolver } from 'node:dns'
import { resolve } from 'node:path'
import { providerVariables } from './config-providers.ts'
import { httpUrl, Mistake, nonEmpty, secret, secureUrl, variable, type Read, type Variable } from './config-variable.ts'
import { cidrList, parseCidr, type CidrList } from './net/cidr.ts'

const ROLES = ['api', 'submission', 'mx', 'worker'] as const
type Role = (typeof ROLES)[number]

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A next hop that is used instead of an MX look-up. `domain` is `*` for all. */
export interface SmtpRoute {
  domain: string
  host: string
  port: number
  auth: { user: string; pass: string } | null
}

const PAGING_URL = 'https://events.pagerduty.com'
export const variables = {
  PORT: variable('8080', 'HTTP: API, docs (0 takes any free port)', port, 8080),
  HOST: variable('127.0.0.1', 'address that every port listens on', nonEmpty, '127.0.0.1'),
  SMTP_PORT: variable('2587', 'SMTP submission (STARTTLS, AUTH)', port, 2587),
  MX_PORT: variable('2525', 'inbound SMTP', port, 2525),
  MX_RATE_PER_MINUTE: variable(
    '1000',
    'messages that one address may bring to the inbound port',
    integer(1, 10_000_000),
    1_000,
  ),
  DATA_DIR: variable('./data', 'embedded database, operator token, generated keys, audit heads', nonEmpty, './data'),
  DATABASE_URL: variable('embedded', 'an external PostgreSQL 15+', postgresUrl, null),
  DATABASE_REPLICA_URL: variable('none', 'a replica that serves lists', postgresUrl, null),
  DATABASE_POOL: variable('20', 'connections per process', integer(2, 200), 20),
  ADMIN_TOKEN: variable('generated', 'operator token, 24 characters or more', secret(24), null),
  SECRET_KEY: variable('generated', 'root key, 32 characters or more', secret(32), null),
  ROLES: variable('api,submission,mx,worker', 'what this process does', roles, new Set<Role>(ROLES)),
  PUBLIC_URL: variable('http://HOST:PORT', 'base of links given to people', httpUrl, null),
  WEB_APP_URL: variable(
    'PUBLIC_URL',
    'your web app: after connecting a mailbox the browser goes to its /inboxes/{id}',
    httpUrl,
    null,
  ),
  PLATFORM_DOMAIN: variable('sluice.test', 'domain whose names need no DNS set-up', hostName, 'sluice.test'),
  MX_HOST: variable('mx.PLATFORM_DOMAIN', 'name in MX records and greetings', hostName, null),
  SPF_HOST: variable('spf.PLATFORM_DOMAIN', 'name in SPF records', hostName, null),
  RETURN_PATH_HOST: variable('bounce.PLATFORM_DOMAIN', 'target of return-path CNAMEs', hostName, null),
  DNS_SERVERS: variable('system', 'resolvers, ip:port list', dnsServers, []),
  SMTP_ROUTES: variable('none', 'static next hops, domain=host:port list, * for all', smtpRoutes, []),
  DELIVERY_ALLOW_CIDRS: variable('none', 'private networks that deliveries may reach', cidrs, cidrList([])),
  WEBHOOK_ALLOW_CIDRS: variable('none', 'private networks that webhooks may reach', cidrs, cidrList([])),
  PAGING_URL: variable('https://events.pagerduty.com', 'where pages go (PagerDuty Events v2)', httpUrl, PAGING_URL),
  STRIPE_SECRET_KEY: variable('none', 'payments: secret key of the Stripe account', secret(8), null),
  STRIPE_WEBHOOK_SECRET: variable('none', 'payments: secret that signs its events', secret(8), null),
  STRIPE_API_URL: variable('https://api.stripe.com', 'payments: where Stripe is', stripeUrl, null),
  POSTMASTER_ADDRESS: variable(
    'none',
    'where mail to postmaster@ and abuse@ goes that no inbox takes',
    mailAddress,
    null,
  ),
  AI_BASE_URL: variable('none', 'extraction: an OpenAI-compatible endpoint, with its path', aiUrl, null),
  AI_API_KEY: variable('none', 'extraction: bearer key of that endpoint', headerValue, null),
  AI_MODEL: variable('none', 'extraction: name of the model', nonEmpty, null),
  ...providerVariables,
  TRUSTED_PROXIES: variable('none', 'networks whose X-Forwarded-For is believed', cidrs, cidrList([])),
  TLS_CERT: variable('self-signed', 'certificate file of the SMTP ports (PEM)', nonEmpty, null),
  TLS_KEY: variable('self-signed', 'key file of the SMTP ports (PEM)', nonEmpty, null),
  DEMO: variable('1 without DATABASE_URL', 'make a sandbox account where there is no account', flag, null),
  LOG_LEVEL: variable('info', LOG_LEVELS.join(', '), oneOf(LOG_LEVELS), 'info'),
} as const satisfies Record<string, Variable<unknown>>

type Values = { [Name in keyof typeof variables]: (typeof variables)[Name]['absent'] }

export interface Config extends Values {
  DATA_DIR: string
  MX_HOST: string
  SPF_HOST: string
  RETURN_PATH_HOST: string
}

export type Environment = Record<string, string | undefined>

/** The configuration, or every mistake in it, a line each. */
export function readConfig(environment: Environment = process.env): { config: Config } | { mistakes: string[] } {
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, { read, absent }] of Object.entries(variables)) {
    const text = environment[name]
    if (text === undefined || text === '') {
      values[name] = absent
      continue
    }
    try {
      values[name] = read(text)
    } catch (mistake) {
      if (!(mistake instanceof Mistake)) throw mistake
      mistakes.push(`${name} ${mistake.message}`)
    }
  }
  const config = values as unknown as Config
  for (const [one, other] of TOGETHER) {
    const isHalf = !config[one] !== !config[other]
    // Of one that is bad itself its own line is enough.
    if (isHalf && !mistakes.some(line => line.startsWith(`${one} `) || line.startsWith(`${other} `)))
      mistakes.push(`${one} and ${other} must be given together`)
  }
  if (!mistakes.some(line => line.startsWith('AI_'))) addAiMistakes(config, mistakes)
  if (mistakes.length > 0) return { mistakes }
  config.DATA_DIR = resolve(config.DATA_DIR)
  config.MX_HOST ??= `mx.${config.PLATFORM_DOMAIN}`
  config.SPF_HOST ??= `spf.${config.PLATFORM_DOMAIN}`
  config.RETURN_PATH_HOST ??= `bounce.${config.PLATFORM_DOMAIN}`
  return { config }
}

function addAiMistakes({ AI_BASE_URL, AI_MODEL, AI_API_KEY }: Config, mistakes: string[]): void {
  if (!AI_BASE_URL !== !AI_MODEL) mistakes.push('AI_BASE_URL and AI_MODEL must be given together')
  else if (AI_API_KEY && !AI_BASE_URL) mistakes.push('AI_API_KEY needs AI_BASE_URL and AI_MODEL')
}

const TOGETHER = [
  ['TLS_CERT', 'TLS_KEY'],
  ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'],
  ['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'],
  ['MICROSOFT_CLIENT_ID', 'MICROSOFT_CLIENT_SECRET'],
] as const

function integer(min: number, max: number): Read<number> {
  return text => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new Mistake(`must be a whole number from ${min} to ${max}, not "${text}"`)
    }
    return value
  }
}

function port(text: string): number {
  return integer(0, 65_535)(text)
}

function flag(text: string): boolean {
  if (text !== '0' && text !== '1') throw new Mistake(`must be 0 or 1, not "${text}"`)
  return text === '1'
}

function oneOf<const T extends string>(allowed: readonly T[]): Read<T> {
  return text => {
    const found = allowed.find(candidate => candidate === text)
    if (!found) throw new Mistake(`must be one of ${allowed.join(', ')}, not "${text}"`)
    return found
  }
}

function roles(text: string): Set<Role> {
  return new Set(list(text).map(oneOf(ROLES)))
}

function postgresUrl(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Mistake('must begin with postgres:// or postgresql://')
  return text
}

/** The secret key goes there: in clear it stays on the machine. */
function stripeUrl(text: string): string {
  const url = new URL(secureUrl(text))
  if (url.pathname !== '/' || url.search || url.hash || url.username) throw new Mistake('must be a host without a path')
  return url.origin
}

function mailAddress(text: string): string {
  const at = text.lastIndexOf('@')
  // The rest of an address is for the gate to judge; here a slip of the hand is caught.
  if (!/^[^\s@<>"(),:;]{1,64}$/.test(text.slice(0, Math.max(at, 0))))
    throw new Mistake(`must be an address, not "${text}"`)
  hostName(text.slice(at + 1))
  return text
}

/** The operator's own: it may be on this machine or in a private network. */
function aiUrl(text: string): string {
  const url = new URL(httpUrl(text))
  if (url.search || url.hash || url.username || url.password)
    throw new Mistake('must have no user, query or fragment; the key is AI_API_KEY')
  return url.href.replace(/\/+$/, '')
}

/** The value itself is never repeated: it would end in a log. */
function headerValue(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Mistake('must be printable ASCII without blanks')
  return text
}

function hostName(text: string): string {
  const name = text.toLowerCase()
  const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/
  if (name.length > 253 || !name.split('.').every(part => label.test(part))) {
    throw new Mistake(`must be a host name, not "${text}"`)
  }
  return name
}

function cidrs(text: string): CidrList {
  const texts = list(text)
  for (const cidr of texts) if (!parseCidr(cidr)) throw new Mistake(`must be a list of CIDRs; "${cidr}" is none`)
  return cidrList(texts)
}

function dnsServers(text: string): string[] {
  const servers = list(text)
  for (const server of servers) {
    try {
      new Resolver().setServers([server])
    } catch {
      throw new Mistake(`must be a list of ip or ip:port; "${server}" is none`)
    }
  }
  return servers
}

function smtpRoutes(text: string): SmtpRoute[] {
  return list(text).map(route => {
    const [domain, target, ...rest] = route.split('=')
    const url = target?.includes('://') ? target : `smtp://${target}`
    const parsed = target && rest.length === 0 && URL.canParse(url) ? new URL(url) : null
    if (!domain || !parsed || parsed.protocol !== 'smtp:' || !parsed.hostname) {
      throw new Mistake(`must be a list of domain=host:port; "${route.replace(/\/\/.*@/, '//…@')}" is none`)
    }
    const auth = parsed.username
      ? { user: decodeURIComponent(parsed.username), pass: decodeURIComponent(parsed.password) }
      : null
    const host = parsed.hostname.replace(/^\[|\]$/g, '')
    return { domain: domain.toLowerCase(), host, port: Number(parsed.port || 25), auth }
  })
}

const list = (text: string): string[] =>
  text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
