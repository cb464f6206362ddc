// `npm run chaos [-- --rounds N --seed S]`: two server processes and PostgreSQL under load, killed at random moments, and
// afterwards the books are checked: nothing acknowledged is lost, every delivery ended in one state, the audit log is whole.
import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { aSink } from '../support/sink.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
const rounds = Number(values.rounds ?? 6)
const seed = values.seed ?? String(process.hrtime.bigint() % 1_000_000n)
const CLIENTS = 12
const ADMIN_TOKEN = 'chaos-operator-token-0123456789'
console.log(`chaos: seed ${seed}, ${rounds} rounds`)

/** Repeatable: the same seed gives the same victims and moments. */
let drawn = 0
const random = (below: number): number =>
  createHash('sha256').update(`${seed} ${drawn++}`).digest().readUInt32BE() % below

const folder = await mkdtemp(join(tmpdir(), 'sluice-chaos-'))
const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => {} })
const sink = await aSink()
const servers = [await aServer(1), await aServer(2)]
await Promise.all(servers.map(server => server.start()))
const sender = await aSender()

const acknowledged = new Map<string, string>()
let isOver = false
let attempts = 0
const clients = Array.from({ length: CLIENTS }, (_, client) => drive(client))
let kills = 0
for (let round = 1; round <= rounds; round++) {
  await delay(1_000 + random(2_000))
  const victim = random(5)
  if (victim === 0) await killPostgres()
  else await servers[victim % 2]!.kill()
  kills += 1
  console.log(
    `round ${round}: killed ${victim === 0 ? 'PostgreSQL' : `server ${(victim % 2) + 1}`}, ${acknowledged.size} acknowledged`,
  )
  await Promise.all(servers.map(server => server.start()))
}
await delay(1_000)
isOver = true
await Promise.all(clients)
console.log(`${acknowledged.size} acknowledged of ${attempts} attempts; waiting for the queue to drain`)
const faults = await audit()
for (const server of servers) await server.stop()
await sink.close()
await postgres.stop()
await rm(folder, { recursive: true, force: true })
for (const fault of faults) console.log(`✗ ${fault}`)
console.log(faults.length === 0 ? '✓ the books balance' : `chaos: failed with seed ${seed}`)
process.exit(faults.length === 0 ? 0 : 1)

/** Sends with a key of its own until it is told that the message is in, whatever breaks meanwhile. */
async function drive(client: number): Promise<void> {
  for (let n = 0; !isOver; n++) {
    const recipient = `c${client}-${n}@d${n % 7}.example`
    for (let tries = 0; ; tries++) {
      const server = servers[(client + tries) % 2]!
      attempts += 1
      const reply = await post(server.url, '/v1/messages', {
        tenant_id: sender.tenantId,
        from: 'a@chaos.sluice.test',
        to: [recipient],
        text: 'x',
        idempotency_key: recipient,
      }).catch(() => null)
      if (reply?.status === 202) {
        acknowledged.set(recipient, reply.body.message_id)
        break
      }
      if (reply && reply.status < 500 && reply.status !== 401) throw new Error(`unexpected: ${JSON.stringify(reply)}`)
      await delay(50)
    }
  }
}

async function audit(): Promise<string[]> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const one = async (text: string): Promise<number> => Number((await client.query(text)).rows[0].count)
  const deadline = performance.now() + 90_000
  while ((await one('select count(*) from queue')) > 0 && performance.now() < deadline) await delay(200)
  const faults: string[] = []
  const expect = (what: string, found: number, wanted: number): void => {
    if (found !== wanted) faults.push(`${what}: ${found}, expected ${wanted}`)
  }
  expect('still queued', await one('select count(*) from queue'), 0)
  expect('deliveries not delivered', await one(`select count(*) from deliveries where status <> 'delivered'`), 0)
  expect('messages per key', await one('select count(*) from messages'), acknowledged.size)
  const copies = Map.groupBy(sink.received, mail => mail.recipients[0]!)
  expect('acknowledged but never received', [...acknowledged.keys()].filter(each => !copies.has(each)).length, 0)
  const events = `select count(*) from (select message_id from events where type = 'delivered' group by 1 having count(*) <> 1) x`
  expect('deliveries without exactly one delivered event', await one(events), 0)
  const extra = sink.received.length - copies.size
  console.log(`${extra} extra copies after ${kills} kills (P4 allows those whose result could not be recorded)`)
  if (extra > kills * 600) faults.push(`${extra} extra copies are more than what was in flight at ${kills} kills`)
  const ids = new Set(sink.received.map(mail => /^Message-ID: (.+)$/m.exec(mail.source)?.[1]))
  expect('Message-IDs, one for all copies of a message', ids.size, copies.size)
  const verdict = await fetch(`${servers[0]!.url}/admin/v1/audit/verify`, { headers: { 'x-admin-token': ADMIN_TOKEN } })
  const { intact } = (await verdict.json()) as { intact: boolean }
  // Two processes keep their heads in two folders; the chain itself must be whole.
  if (!intact) faults.push('the audit log does not verify')
  await client.end()
  return faults
}

interface Server {
  url: string
  start(): Promise<void>
  kill(): Promise<void>
  stop(): Promise<void>
}

async function aServer(number: number): Promise<Server> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | null = null
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: postgres.url,
    DATA_DIR: join(folder, `server-${number}`),
    SECRET_KEY: 'chaos-secret-key-0123456789-0123456789',
    ADMIN_TOKEN,
    PORT: String(port),
    SMTP_PORT: '0',
    MX_PORT: '0',
    SMTP_ROUTES: `*=127.0.0.1:${sink.port}`,
    LOG_LEVEL: 'error',
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  return {
    url,
    start: async () => {
      if (!child || child.exitCode !== null || child.signalCode !== null) {
        child = spawn(process.execPath, ['src/main.ts', 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
      }
      for (;;) {
        const reply = await fetch(`${url}/readyz`).catch(() => null)
        if (reply?.status === 200) return
        await delay(50)
      }
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

async function killPostgres(): Promise<void> {
  const file = await readFile(join(folder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')
  process.kill(Number(file.split('\n')[0]), 'SIGKILL')
}

async function aSender(): Promise<{ bearer: string; tenantId: string }> {
  const url = servers[0]!.url
  const headers = { 'content-type': 'application/json', 'x-admin-token': ADMIN_TOKEN }
  const created = await fetch(`${url}/admin/v1/accounts`, { method: 'POST', headers, body: '{"name":"Chaos"}' })
  const { api_key } = (await created.json()) as { api_key: { secret: string } }
  const bearer = api_key.secret
  const tenant = await post(url, '/v1/tenants', { external_id: 'chaos', name: 'Chaos' }, bearer)
  await post(url, `/v1/tenants/${tenant.body.id}/domains`, { name: 'chaos.sluice.test' }, bearer)
  return { bearer, tenantId: tenant.body.id }
}

// oxlint-disable-next-line typescript/no-explicit-any -- replies are read freely here
type Body = any

async function post(
  url: string,
  path: string,
  body: object,
  bearer: string = sender.bearer,
): Promise<{ status: number; body: Body }> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` }
  const signal = AbortSignal.timeout(15_000)
  const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal })
  return { status: reply.status, body: await reply.json() }
}
