// Sluice as an operator runs it, on free ports of loopback, with an account whose mail is real.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aDnsServer, type FakeDns } from '../../src/platform/net/dns.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { freePort, spawnProgram, stopChild } from '../support/programs/ports.ts'
import { PATIENCE_MS } from './checks.ts'

const ADMIN_TOKEN = 'interop-operator-token-0123456789'
const START_MS_MAX = 100_000

export interface Sluice {
  url: string
  adminToken: string
  smtpPort: number
  mxPort: number
  dataDir: string
  /** All the DNS it knows. */
  dns: FakeDns
  /** What it printed and logged. */
  output(): string
  stop(): Promise<void>
}

export async function startSluice(environment: Record<string, string>): Promise<Sluice> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-interop-'))
  const [port, smtpPort, mxPort] = [await freePort(), await freePort(), await freePort()]
  const dns = await aDnsServer()
  const child = spawnProgram(process.execPath, ['src/main.ts', 'serve'], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: dataDir,
      ADMIN_TOKEN,
      SECRET_KEY: 'interop-secret-key-0123456789-0123456789',
      PORT: String(port),
      SMTP_PORT: String(smtpPort),
      MX_PORT: String(mxPort),
      DNS_SERVERS: dns.address,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (output += String(chunk)))
  const sluice: Sluice = {
    url: `http://127.0.0.1:${port}`,
    adminToken: ADMIN_TOKEN,
    smtpPort,
    mxPort,
    dataDir,
    dns,
    output: () => output,
    stop: async () => {
      await stopChild(child)
      await dns.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
  const isUp = async () => child.exitCode !== null || output.includes('Sluice is ready.')
  await eventually('Sluice is ready', isUp, START_MS_MAX)
  if (child.exitCode !== null) throw new Error(`Sluice ended with ${child.exitCode}: ${output}`)
  return sluice
}

// oxlint-disable-next-line typescript/no-explicit-any -- replies are read freely here
type Body = any

export interface Customer {
  tenantId: string
  /** Verified, and receiving. */
  domain: string
  domainId: string
  /** Of the domain, as TXT. */
  dkim: { name: string; value: string }
  login: { username: string; password: string }
  call(method: string, path: string, body?: object): Promise<Body>
  anInbox(localPart: string): Promise<{ id: string; address: string }>
  /** As a browser does, up to where it would be sent next. */
  follow(path: string): Promise<string>
  /** The content of what the path names. */
  download(path: string): Promise<Buffer>
  /** The newest message of the inbox with this subject, once it is there. */
  arrival(inboxId: string, subject: string): Promise<Body>
  /** Of a message that was sent: its first delivery, once it has this status. */
  settled(messageId: string, status: string): Promise<Body>
  send(fields: object): Promise<string>
}

export async function aCustomer({ url }: Sluice, name: string): Promise<Customer> {
  const { api_key } = await call(url, { 'x-admin-token': ADMIN_TOKEN }, 'POST', '/admin/v1/accounts', { name })
  const auth = { authorization: `Bearer ${api_key.secret}` }
  const api: Customer['call'] = (method, path, body) => call(url, auth, method, path, body)
  const { id: tenantId } = await api('POST', '/v1/tenants', { external_id: name, name })
  const domain = `${name}.sluice.test`
  const { id: domainId, records } = await api('POST', `/v1/tenants/${tenantId}/domains`, { name: domain })
  await api('POST', `/v1/domains/${domainId}/inbound`, { enabled: true })
  const login = await api('POST', `/v1/tenants/${tenantId}/smtp-credentials`, {})
  const dkim = (records as Body[]).find(record => record.name.includes('_domainkey'))
  return {
    tenantId,
    domain,
    domainId,
    dkim,
    login,
    call: api,
    anInbox: local_part => api('POST', `/v1/tenants/${tenantId}/inboxes`, { domain_id: domainId, local_part }),
    follow: async path => {
      const reply = await fetch(url + path, { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) })
      assert.equal(reply.status, 302, path)
      return reply.headers.get('location') ?? ''
    },
    download: async path => {
      const reply = await fetch(url + path, { headers: auth, signal: AbortSignal.timeout(PATIENCE_MS) })
      assert.equal(reply.status, 200, path)
      return Buffer.from(await reply.arrayBuffer())
    },
    arrival: async (inboxId, subject) => {
      const { id } = await eventually(
        `"${subject}" arrives`,
        async () => {
          const { messages } = await api('GET', `/v1/inboxes/${inboxId}/messages?limit=50`)
          return (messages as Body[]).find(message => message.subject === subject)
        },
        PATIENCE_MS,
      )
      return api('GET', `/v1/inbox-messages/${id}`)
    },
    settled: (messageId, status) =>
      eventually(
        `a delivery is ${status}`,
        async () => {
          const { deliveries } = await api('GET', `/v1/messages/${messageId}`)
          return (deliveries as Body[]).find(delivery => delivery.status === status)
        },
        PATIENCE_MS,
      ),
    send: async fields => {
      const from = `hello@${domain}`
      const { message_id } = await api('POST', '/v1/messages', {
        tenant_id: tenantId,
        from,
        subject: 'Hello',
        ...fields,
      })
      return message_id
    },
  }
}

async function call(
  url: string,
  headers: Record<string, string>,
  method: string,
  path: string,
  body?: object,
): Promise<Body> {
  const reply = await fetch(url + path, {
    method,
    headers: body ? { 'content-type': 'application/json', ...headers } : headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  const text = await reply.text()
  assert.ok(reply.ok, `${method} ${path} answered ${reply.status}: ${text}`)
  return text === '' ? null : JSON.parse(text)
}
