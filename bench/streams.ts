// Streams of inboxes: memory of many, how soon an event arrives, how fast a stream that was away catches up, and whether a
// storm of reconnects or clients that never read are felt by others. Events are appended straight to the journal.
import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { locks } from '../src/platform/db/locks.ts'
import { databaseClient } from './latency.ts'
import { cpuMilliseconds } from './support/cpu.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, note, percentile, report } from './support/report.ts'
import { residentMegabytes, startServer, type BenchServer } from './support/server.ts'
import { followRaw, followWebSocket, type StreamClient, type StreamTarget } from './support/stream-client.ts'

const STREAMS = 2_000
const PER_KEY = 5
const EVENTS_PER_SECOND = 200
const SECONDS = 15
const MISSED = 100_000
const NEVER_READING = 200

export async function benchStreams(): Promise<void> {
  heading(
    `Streams: ${count(STREAMS)} open on one process, ${EVENTS_PER_SECOND} events a second, ${count(MISSED)} missed`,
  )
  const server = await startServer({ LOG_LEVEL: 'error' })
  const client = await databaseClient(server)
  const site = await aSite(server)
  const targets = await manyTargets(server, site)
  const latencies: number[] = []
  let clients = await openAll(targets, latencies)
  await delay(3_000)
  const resident = await residentMegabytes(server.pid)
  report({
    name: `server process with ${count(STREAMS)} streams`,
    value: `${resident.toFixed(0)} MB`,
    target: '<= 350 MB',
    isMet: resident <= 350,
  })
  await arrival(client, site, targets, latencies)
  clients = await storm(server, client, { site, targets, clients, latencies })
  await neverReading(server, client, { site, targets, clients })
  for (const each of clients) each.close()
  await catchUp(server, client, site)
  await client.end()
  await server.stop()
}

interface Site {
  accountId: string
  bearer: string
  inboxIds: string[]
}

async function aSite(server: BenchServer): Promise<Site> {
  const { body } = await apiFetch(server, '/admin/v1/accounts', { name: 'Streams' })
  const bearer: string = body.api_key.secret
  const post = async (path: string, fields: object) => {
    const reply = await apiFetch(server, path, fields, bearer)
    if (reply.status >= 300) throw new Error(JSON.stringify(reply.body))
    return reply.body
  }
  const tenant = await post('/v1/tenants', { external_id: 'streams', name: 'Streams' })
  const domain = await post(`/v1/tenants/${tenant.id}/domains`, { name: 'streams.sluice.test' })
  await post(`/v1/domains/${domain.id}/inbound`, { enabled: true })
  const inboxIds: string[] = []
  for (let n = 0; n < STREAMS / PER_KEY; n++) {
    const inbox = await post(`/v1/tenants/${tenant.id}/inboxes`, { domain_id: domain.id, local_part: `inbox${n}` })
    inboxIds.push(inbox.id)
  }
  return { accountId: body.account.id, bearer, inboxIds }
}

/** Five streams for each of as many keys as inboxes. */
async function manyTargets(server: BenchServer, { bearer, inboxIds }: Site): Promise<StreamTarget[]> {
  const targets: StreamTarget[] = []
  for (const inboxId of inboxIds) {
    const { body } = await apiFetch(server, '/v1/api-keys', { name: 'bench', scopes: ['read'] }, bearer)
    for (let n = 0; n < PER_KEY; n++) targets.push({ url: server.url, inboxId, bearer: body.secret })
  }
  return targets
}

/** Half over server-sent events, half over WebSocket. */
async function openAll(targets: readonly StreamTarget[], latencies: number[]): Promise<StreamClient[]> {
  const note = (_id: number, createdAt: number): void => void latencies.push(Date.now() - createdAt)
  const clients = targets.map((target, n) => (n % 2 === 0 ? followRaw(target, note) : followWebSocket(target, note)))
  await until('all streams are open', () => {
    const ended = clients.find(({ isClosed }) => isClosed)
    if (ended) throw new Error(`a stream was refused: ${ended.answer}`)
    return clients.every(({ isOpen }) => isOpen)
  })
  return clients
}

async function arrival(client: pg.Client, site: Site, targets: readonly unknown[], latencies: number[]): Promise<void> {
  latencies.length = 0
  const events = EVENTS_PER_SECOND * SECONDS
  const began = performance.now()
  for (let n = 0; n < events; n++) {
    const wait = began + (n * 1000) / EVENTS_PER_SECOND - performance.now()
    if (wait > 0) await delay(wait)
    await append(client, site, site.inboxIds[randomInt(site.inboxIds.length)]!, 1)
  }
  await until('all events arrived', () => latencies.length >= events * PER_KEY)
  if (latencies.length > events * PER_KEY) throw new Error(`${latencies.length} frames of ${events * PER_KEY}`)
  const p99 = percentile(latencies, 0.99)
  report({ name: `an event at ${targets.length} streams, p50`, value: `${percentile(latencies, 0.5)} ms` })
  report({ name: 'an event at all its subscribers, p99', value: `${p99} ms`, target: '<= 300 ms', isMet: p99 <= 300 })
}

interface Stormed {
  site: Site
  targets: readonly StreamTarget[]
  clients: StreamClient[]
  latencies: number[]
}

/** All are cut at once and come back at once, each from the last id it has. */
async function storm(
  server: BenchServer,
  client: pg.Client,
  { site, targets, clients, latencies }: Stormed,
): Promise<StreamClient[]> {
  const from = Math.max(...clients.map(({ lastId }) => lastId))
  for (const each of clients) each.close()
  for (const inboxId of site.inboxIds) await append(client, site, inboxId, 3)
  await until('all slots are free', async () => {
    const { rows } = await client.query('select count(*)::int as count from stream_slots')
    return rows[0].count === 0
  })
  const calm = await calmNeighbour(server)
  const neighbour = watchNeighbour(server)
  const began = performance.now()
  const again = await openAll(
    targets.map(target => ({ ...target, afterId: from })),
    latencies,
  )
  await until('all have caught up', () => again.every(({ frames }) => frames >= 3))
  const seconds = (performance.now() - began) / 1000
  const p99 = await neighbour()
  if (again.some(({ frames }) => frames !== 3)) throw new Error('a stream skipped or repeated an event')
  report({ name: `storm: ${count(STREAMS)} reconnect and have caught up`, value: `${seconds.toFixed(1)} s` })
  reportNeighbour('meanwhile', calm, p99)
  return again
}

/** Clients that ask and never read, while much happens in their inbox. */
async function neverReading(
  server: BenchServer,
  client: pg.Client,
  { site, targets, clients }: Omit<Stormed, 'latencies'>,
): Promise<void> {
  const count = NEVER_READING
  for (const each of clients.slice(-count)) each.close()
  await delay(1_000)
  const silent = targets.slice(-count).map(target => followRaw(target, () => {}, { reads: false }))
  await delay(2_000)
  const calm = await calmNeighbour(server)
  const neighbour = watchNeighbour(server)
  const inboxIds = [...new Set(targets.slice(-count).map(({ inboxId }) => inboxId))]
  let most = 0
  for (let round = 0; round < 100; round++) {
    for (const inboxId of inboxIds) await append(client, site, inboxId, 20, 10_000)
    most = Math.max(most, await residentMegabytes(server.pid))
  }
  const p99 = await neighbour()
  const { rows } = await client.query('select count(*)::int as count from stream_slots')
  const left = rows[0].count - (STREAMS - count)
  for (const each of silent) each.close()
  report({
    name: `${count} clients that never read: still open, memory at most`,
    value: `${left} / ${most.toFixed(0)} MB`,
  })
  reportNeighbour('beside them', calm, p99)
}

async function catchUp(server: BenchServer, client: pg.Client, site: Site): Promise<void> {
  const inboxId = site.inboxIds[0]!
  const { rows } = await client.query('select max(id)::bigint as id from events')
  const afterId = Number(rows[0].id)
  for (let n = 0; n < MISSED; n += 5_000) await append(client, site, inboxId, 5_000)
  const target = { url: server.url, inboxId, bearer: site.bearer, afterId }
  for (const [name, follow] of Object.entries({ 'server-sent events': followRaw, WebSocket: followWebSocket })) {
    const began = performance.now()
    const used = cpuMilliseconds(server)
    const stream = follow(target)
    await until('everything was sent again', () => stream.frames >= MISSED)
    const rate = MISSED / ((performance.now() - began) / 1000)
    note(`${count(cpuMilliseconds(server) - used)} ms of CPU, of the server and its database`)
    stream.close()
    report({ name: `resume over ${name}, events/s`, value: count(rate), target: '>= 20,000', isMet: rate >= 20_000 })
  }
}

function reportNeighbour(when: string, calm: number, p99: number): void {
  report({
    name: `${when}: a neighbour's request, p99, and before`,
    value: `${p99.toFixed(0)} / ${calm.toFixed(0)} ms`,
    target: '<= 250 ms more',
    isMet: p99 - calm <= 250,
  })
}

async function calmNeighbour(server: BenchServer): Promise<number> {
  const neighbour = watchNeighbour(server)
  await delay(5_000)
  return neighbour()
}

/** Another account asks for its tenants, one request after the other; answers the p99 in milliseconds. */
function watchNeighbour(server: BenchServer): () => Promise<number> {
  const took: number[] = []
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const began = performance.now()
      const reply = await fetch(`${server.url}/v1/tenants`, { headers: { authorization: `Bearer ${server.bearer}` } })
      await reply.arrayBuffer()
      if (reply.status !== 200) throw new Error(`the neighbour got ${reply.status}`)
      took.push(performance.now() - began)
      await delay(5)
    }
  })()
  return async () => {
    isOver = true
    await asking
    return percentile(took, 0.99)
  }
}

/** As the service itself appends: under the journal lock, then a hint. */
async function append(
  client: pg.Client,
  { accountId }: Site,
  inboxId: string,
  events: number,
  padding = 0,
): Promise<void> {
  await Promise.all([
    client.query('begin'),
    client.query('select pg_advisory_xact_lock($1)', [locks.journal]),
    client.query(
      `insert into events (account_id, inbox_id, type, created_at, data)
       select $1, $2, 'message.received', clock_timestamp(),
         jsonb_build_object('message_id', gen_random_uuid(), 'thread_id', gen_random_uuid(), 'folder', 'inbox',
           'from', 'Someone <someone@example.com>', 'subject', 'Minutes of the meeting' || repeat('x', $4))
       from generate_series(1, $3)`,
      [accountId, inboxId, events, padding],
    ),
    client.query('commit'),
  ])
  await client.query(`select pg_notify('sluice', 'journal')`)
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`did not happen: ${what}`)
    await delay(5)
  }
}
