// With 2,000,000 deliveries and 4,000,000 events in the tables, the same rates as with none.
import type pg from 'pg'
import { databaseClient } from './latency.ts'
import { httpLoad } from './support/load.ts'
import { httpPostLoad } from './support/post-load.ts'
import { count, heading, median, note, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const DELIVERIES = 2_000_000
const EVENTS = 4_000_000
const BATCH = 200_000
const ROUNDS = 3
const MESSAGES = 2_000

interface Rates {
  acceptance: number
  claim: number
  messages: number
  events: number
}

export async function benchGrowth(): Promise<void> {
  heading(`Growth: ${count(DELIVERIES)} deliveries and ${count(EVENTS)} events, against an empty database`)
  const server = await startServer({ LOG_LEVEL: 'warn' })
  const client = await databaseClient(server)
  await acceptOnce(server)
  const empty = await measure(server)
  await fill(client, server)
  await acceptOnce(server)
  const full = await measure(server)
  await client.end()
  await server.stop()
  for (const name of ['acceptance', 'claim', 'messages', 'events'] as const) {
    const ratio = full[name] / empty[name]
    const value = `${count(empty[name])} → ${count(full[name])}`
    report({ name: `${name} per second, empty and full`, value })
    report({ name: `${name}, ratio`, value: ratio.toFixed(2), target: '>= 0.8', isMet: ratio >= 0.8 })
  }
}

async function measure(server: BenchServer): Promise<Rates> {
  const rounds: Rates[] = []
  const get = (path: string) =>
    httpLoad({
      url: server.url + path,
      headers: { authorization: `Bearer ${server.bearer}` },
      connections: 8,
      seconds: 4,
    })
  for (let round = 0; round < ROUNDS; round++) {
    const { accepted, done } = await acceptOnce(server)
    rounds.push({
      acceptance: accepted,
      claim: done,
      messages: (await get('/v1/messages?limit=20')).requestsPerSecond,
      events: (await get('/v1/events?limit=50')).requestsPerSecond,
    })
  }
  const of = (name: keyof Rates): number => median(rounds.map(each => each[name]))
  return { acceptance: of('acceptance'), claim: of('claim'), messages: of('messages'), events: of('events') }
}

/** Accepts a batch and waits until the sandbox has taken all of it: claims and records included. */
async function acceptOnce(server: BenchServer): Promise<{ accepted: number; done: number }> {
  const began = performance.now()
  const seconds = await httpPostLoad({
    url: `${server.url}/v1/messages`,
    bearer: server.bearer,
    connections: 64,
    requests: MESSAGES,
    body: { tenant_id: server.tenantId, from: 'a@acme.sluice.test', to: ['u@example.com'], subject: 's', text: 'x' },
  })
  for (;;) {
    const reply = await fetch(`${server.url}/v1/queue`, { headers: { authorization: `Bearer ${server.bearer}` } })
    const depth = (await reply.json()) as { queued: number; sending: number }
    if (depth.queued + depth.sending === 0) break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return { accepted: MESSAGES / seconds, done: MESSAGES / ((performance.now() - began) / 1000) }
}

/** History of the same account and tenant, spread over three weeks. */
async function fill(client: pg.Client, { tenantId }: BenchServer): Promise<void> {
  const { rows } = await client.query('select account_id from tenants where id = $1', [tenantId])
  const ids = [rows[0].account_id, tenantId]
  await client.query('set synchronous_commit = off')
  for (let done = 0; done < DELIVERIES; done += BATCH) {
    const made = `select (lpad(to_hex((extract(epoch from now() - (i % 1814400) * interval '1 second') * 1000)::bigint), 12, '0')
      || substr(md5(i::text), 1, 20))::uuid as id, i from generate_series(${done + 1}, ${done + BATCH}) as i`
    await client.query(
      `with made as (${made}), m as (insert into messages (id, account_id, tenant_id, sender, sender_domain, from_header, subject,
         rfc_message_id, tags, metadata, size, recipients, is_sandbox, needs_smtputf8, has_unsubscribe, created_at)
       select id, $1, $2, 'a@acme.sluice.test', 'acme.sluice.test', 'a@acme.sluice.test', 's', '<x@y.test>', '[]', '{}', 500, 1,
         true, false, false, now() from made)
       insert into deliveries (message_id, n, account_id, tenant_id, recipient, kind, status, attempts, updated_at)
       select id, 0, $1, $2, 'user' || i || '@example.com', 'to', 'delivered', 1, now() from made`,
      ids,
    )
    note(`${count(done + BATCH)} deliveries`)
  }
  for (let done = 0; done < EVENTS; done += BATCH) {
    await client.query('select create_event_partitions(2)')
    await client.query(
      `insert into events (account_id, tenant_id, message_id, recipient, type, created_at, data)
       select $1, $2, gen_random_uuid(), 'user' || i || '@example.com', case i % 2 when 0 then 'accepted' else 'delivered' end,
         now(), '{"smtp_code": 250}' from generate_series(${done + 1}, ${done + BATCH}) as i`,
      ids,
    )
  }
  note('vacuum')
  await client.query('vacuum analyze')
}
