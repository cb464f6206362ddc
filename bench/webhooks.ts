// Webhooks: how fast a long journal reaches one receiver, how soon an event arrives at a calm rate, and whether endpoints
// that hang are felt by the others. Events are appended straight to the journal, so that only the pushing is measured.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { locks } from '../src/platform/db/locks.ts'
import { databaseClient } from './latency.ts'
import { startHookSink, type HookSink } from './support/hook-sink.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, note, percentile, report } from './support/report.ts'
import { residentMegabytes, startServer, type BenchServer } from './support/server.ts'

const EVENTS = 20_000
const CALM_PER_SECOND = 200
const CALM_SECONDS = 10
const MANY = 1_000
const HANGING = 5
const MANY_EVENTS = 8

export async function benchWebhooks(): Promise<void> {
  heading(`Webhooks: ${count(EVENTS)} events to one receiver; then ${CALM_PER_SECOND} a second; then ${MANY} webhooks`)
  const sink = await startHookSink()
  const server = await startServer({ WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const client = await databaseClient(server)
  await throughput(server, client, sink)
  await calm(server, client, sink)
  await manyWebhooks(server, client, sink)
  await client.end()
  await server.stop()
  await sink.stop()
}

async function throughput(server: BenchServer, client: pg.Client, sink: HookSink): Promise<void> {
  const account = await anAccount(server)
  await aWebhook(server, account, `${sink.url}/`)
  await append(client, account.id, 500)
  await arrived(sink, 500)
  await sink.reset()
  const began = performance.now()
  for (let sent = 0; sent < EVENTS; sent += 500) await append(client, account.id, 500)
  const appended = performance.now() - began
  await arrived(sink, EVENTS)
  const rate = EVENTS / ((performance.now() - began) / 1000)
  note(`${count(EVENTS)} events were in the journal after ${appended.toFixed(0)} ms`)
  report({ name: 'delivered to one receiver, events/s', value: count(rate), target: '>= 1,500', isMet: rate >= 1_500 })
  report({ name: 'server process', value: `${(await residentMegabytes(server.pid)).toFixed(0)} MB` })
  await sink.reset()
}

async function calm(server: BenchServer, client: pg.Client, sink: HookSink): Promise<void> {
  const account = await anAccount(server)
  await aWebhook(server, account, `${sink.url}/`)
  await append(client, account.id, 1)
  await arrived(sink, 1)
  await sink.reset()
  const events = CALM_PER_SECOND * CALM_SECONDS
  const began = performance.now()
  for (let n = 0; n < events; n++) {
    const wait = began + (n * 1000) / CALM_PER_SECOND - performance.now()
    if (wait > 0) await delay(wait)
    await append(client, account.id, 1)
  }
  await arrived(sink, events)
  const latencies = await sink.latencies()
  const soon = latencies.filter(each => each <= 1_000).length / latencies.length
  report({ name: 'latency at 200 events/s, p50', value: `${percentile(latencies, 0.5)} ms` })
  report({ name: 'latency at 200 events/s, p99', value: `${percentile(latencies, 0.99)} ms` })
  report({ name: 'within 1 s', value: `${(soon * 100).toFixed(2)} %`, target: '>= 95 %', isMet: soon >= 0.95 })
  await sink.reset()
}

/** The same webhooks without and with a few that hang: the others must not notice. */
async function manyWebhooks(server: BenchServer, client: pg.Client, sink: HookSink): Promise<void> {
  const account = await anAccount(server)
  await client.query('update accounts set webhooks_max = $1 where id = $2', [MANY, account.id])
  for (let n = 0; n < MANY - HANGING; n++) await aWebhook(server, account, `${sink.url}/${n}`)
  await roundOfMany(client, account, sink)
  const without = await roundOfMany(client, account, sink)
  for (let n = 0; n < HANGING; n++) await aWebhook(server, account, `${sink.url}/hang/${n}`)
  const beside = await roundOfMany(client, account, sink)
  const [before, after] = [percentile(without, 0.95), percentile(beside, 0.95)]
  report({ name: `latency of ${MANY - HANGING} webhooks, p95`, value: `${before} ms` })
  report({ name: `the same beside ${HANGING} that hang, p95`, value: `${after} ms` })
  const ratio = after / before
  report({ name: 'hanging endpoints, ratio', value: ratio.toFixed(2), target: '<= 1.5', isMet: ratio <= 1.5 })
}

async function roundOfMany(client: pg.Client, account: Account, sink: HookSink): Promise<number[]> {
  await sink.reset()
  for (let n = 1; n <= MANY_EVENTS; n++) {
    await append(client, account.id, 1)
    await arrived(sink, n * (MANY - HANGING))
  }
  return sink.latencies()
}

interface Account {
  id: string
  bearer: string
}

async function anAccount(server: BenchServer): Promise<Account> {
  const { body } = await apiFetch(server, '/admin/v1/accounts', { name: 'Bench' })
  return { id: body.account.id, bearer: body.api_key.secret }
}

async function aWebhook(server: BenchServer, { bearer }: Account, url: string): Promise<void> {
  const { status, body } = await apiFetch(server, '/v1/webhooks', { url }, bearer)
  if (status !== 201) throw new Error(JSON.stringify(body))
}

/** As the service itself appends: under the journal lock, then a hint. */
async function append(client: pg.Client, accountId: string, events: number): Promise<void> {
  await Promise.all([
    client.query('begin'),
    client.query('select pg_advisory_xact_lock($1)', [locks.journal]),
    client.query(
      `insert into events (account_id, message_id, recipient, type, created_at, data)
       select $1, $2, 'someone@example.com', 'delivered', clock_timestamp(),
         '{"smtp_code": 250, "response": "2.0.0 Ok: queued as 4F1B2C3D4E", "mx_host": "mx.example.com", "attempt": 1}'
       from generate_series(1, $3)`,
      [accountId, randomUUID(), events],
    ),
    client.query('commit'),
  ])
  await client.query(`select pg_notify('sluice', 'journal')`)
}

async function arrived(sink: HookSink, events: number): Promise<void> {
  const deadline = performance.now() + 120_000
  while (sink.count() < events) {
    if (performance.now() > deadline) throw new Error(`only ${sink.count()} of ${events} arrived`)
    await delay(2)
  }
}
