// What a scenario breaks: PostgreSQL, server processes as an operator runs them, and an account that sends.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { aDatabaseProxy, type DatabaseProxy } from '../support/database-proxy.ts'
import { aServerProcess, type Server } from '../support/server-process.ts'
import { aSink, type TestSink } from '../support/sink.ts'

export const ADMIN_TOKEN = 'chaos-operator-token-0123456789'

export interface Site {
  /** Past the proxy. */
  databaseUrl: string
  /** What the servers reach the database through. */
  proxy: DatabaseProxy
  sink: TestSink
  aServer(environment?: Record<string, string>): Promise<Server>
  killPostgres(): Promise<void>
  close(): Promise<void>
}

export async function aSite(): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-chaos-'))
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => {} })
  const sink = await aSink()
  const proxy = await aDatabaseProxy(postgres.url)
  const servers: Server[] = []
  return {
    databaseUrl: postgres.url,
    proxy,
    sink,
    aServer: async (environment = {}) => {
      const server = await aServerProcess({
        PATH: process.env['PATH'],
        DATABASE_URL: proxy.url,
        DATA_DIR: join(folder, `server-${servers.length + 1}`),
        SECRET_KEY: 'chaos-secret-key-0123456789-0123456789',
        ADMIN_TOKEN,
        SMTP_PORT: '0',
        MX_PORT: '0',
        SMTP_ROUTES: `*=127.0.0.1:${sink.port}`,
        WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
        LOG_LEVEL: 'error',
        ...environment,
      })
      servers.push(server)
      return server
    },
    killPostgres: async () => {
      const file = await readFile(join(folder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')
      process.kill(Number(file.split('\n')[0]), 'SIGKILL')
    },
    close: async () => {
      for (const server of servers) await server.stop()
      await sink.close()
      proxy.cut()
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- replies are read freely here
type Body = any

export interface Sender {
  bearer: string
  accountId: string
  tenantId: string
  post(server: Server, path: string, body: object): Promise<{ status: number; body: Body }>
}

export async function aSender(server: Server): Promise<Sender> {
  const headers = { 'content-type': 'application/json', 'x-admin-token': ADMIN_TOKEN }
  const created = await fetch(`${server.url}/admin/v1/accounts`, { method: 'POST', headers, body: '{"name":"Chaos"}' })
  const { api_key, account } = (await created.json()) as { api_key: { secret: string }; account: { id: string } }
  const bearer = api_key.secret
  const post = posting(bearer)
  const tenant = await post(server, '/v1/tenants', { external_id: 'chaos', name: 'Chaos' })
  await post(server, `/v1/tenants/${tenant.body.id}/domains`, { name: 'chaos.sluice.test' })
  return { bearer, accountId: account.id, tenantId: tenant.body.id, post }
}

/** Calls with this key. */
export const posting =
  (bearer: string): Sender['post'] =>
  async ({ url }, path, body) => {
    const reply = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    })
    return { status: reply.status, body: await reply.json() }
  }
