// What the tests of the transport share: a transport made for tests, and messages.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { cidrList } from '../../platform/net/cidr.ts'
import { Dns } from '../../platform/net/dns.ts'
import type { FakeServer } from './fake-smtp.fixture.ts'
import type { SendResult } from './outcome.ts'
import { Transport, type Envelope, type TransportOptions } from './transport.ts'

/** Generous, so that a busy machine fails nothing; a test shortens the one it is about. */
const TIMEOUTS = {
  connectMs: 8_000,
  greetingMs: 8_000,
  commandMs: 8_000,
  dataMs: 8_000,
  contentMs: 8_000,
  quitMs: 500,
  policyMs: 8_000,
  closeMs: 1_000,
  leaveMs: 1_000,
}

export interface TestTransport extends Partial<TransportOptions> {
  dnsServers?: readonly string[]
  dnsMs?: number
}

export function aTransport(t: TestContext, { dnsServers = [], dnsMs = 4_000, ...options }: TestTransport = {}) {
  const transport = new Transport({
    helloName: 'sender.test',
    routes: [],
    dns: new Dns({ servers: dnsServers, timeoutMs: dnsMs, ...(options.clock && { clock: options.clock }) }),
    allowPrivate: cidrList(['127.0.0.0/8', '::1']),
    ...options,
    timeouts: { ...TIMEOUTS, ...options.timeouts },
  })
  t.after(() => transport.close())
  return transport
}

/** Everything goes to that server. */
export const routesTo = ({ address, port }: FakeServer): Pick<TransportOptions, 'routes'> => ({
  routes: [{ domain: '*', host: address, port, auth: null }],
})

export const SOURCE = Buffer.from('From: a@sender.test\r\nSubject: hello\r\n\r\nHello.\r\n')

export const anEnvelope = (fields: Partial<Envelope> = {}): Envelope => ({
  mailFrom: 'a@sender.test',
  recipients: ['b@receiver.test'],
  source: SOURCE,
  smtputf8: false,
  requireTls: false,
  mayBegin: async () => true,
  ...fields,
})

/**
 * `delivered`, `refused rcpt 550 5.1.1`, `fault connect`, `fault! dns 5.1.2`: the exclamation mark is for permanent.
 */
export function brief(outcome: SendResult | undefined): string {
  assert(outcome, 'there is an outcome')
  if (outcome.kind === 'withheld' || outcome.kind === 'waited_too_long') return outcome.kind
  if (outcome.kind === 'delivered') return outcome.tls ? 'delivered over TLS' : 'delivered'
  const { phase } = outcome
  if (outcome.kind === 'refused') return ['refused', phase, outcome.reply.code, outcome.reply.enhanced].join(' ').trim()
  return ['fault', outcome.isPermanent ? '! ' : ' ', phase, outcome.code ? ` ${outcome.code}` : ''].join('')
}

/** The host that an outcome names. */
export const hostOf = (outcome: SendResult | undefined): string | null =>
  outcome && 'host' in outcome ? outcome.host : null
