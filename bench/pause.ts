// Pausing a tenant with 1,000,000 queued recipients: how soon the call answers, how fast the queue follows, and the same
// for resuming.
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { databaseClient } from './latency.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, note, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const RECIPIENTS = 1_000_000
const PER_MESSAGE = 1_000
const OVERLAPPING = 150_000
const ANSWER_MS_MAX = 300
const WARM_UP_CALLS = 30
const PER_SECOND_MIN = 30_000

export async function benchPause(): Promise<void> {
  heading(`Pausing and resuming a tenant with ${count(RECIPIENTS)} queued recipients`)
  const server = await startServer({ LOG_LEVEL: 'warn' })
  const client = await databaseClient(server)
  await fill(client, server, { recipients: RECIPIENTS, perMessage: PER_MESSAGE })
  const post = (path: string, body: object = {}) => apiFetch(server, path, body, server.bearer)

  // The first calls compile what they run, and prepare it on each connection: one of them says little.
  for (let n = 0; n < WARM_UP_CALLS; n++) {
    const { body } = await post('/v1/suspensions', { scope_type: 'rule', scope_value: `tag:nobody-${n}` })
    await post(`/v1/suspensions/${body.id}/resume`)
  }

  const pauseBegan = performance.now()
  const paused = await post(`/v1/tenants/${server.tenantId}/pause`)
  const pauseMs = performance.now() - pauseBegan
  const id: string = paused.body.id
  await until(client, `select parked_at is not null as done from suspensions where id = '${id}'`)
  const parkSeconds = (performance.now() - pauseBegan) / 1000

  const resumeBegan = performance.now()
  const resumed = await post(`/v1/tenants/${server.tenantId}/resume`)
  const resumeMs = performance.now() - resumeBegan
  await until(client, `select drained_at is not null as done from suspensions where id = '${id}'`)
  const releaseSeconds = (performance.now() - resumeBegan) / 1000
  const kept = await resumeUnderABroaderPause(client, post, server.tenantId)
  const parted = await resumeBesideAnOverlappingPause(client, post, { server, perMessage: PER_MESSAGE })
  const single = await resumeBesideAnOverlappingPause(client, post, { server, perMessage: 1 })
  await client.end()
  await server.stop()

  answer('pause answers', pauseMs)
  rate('parked, recipients/s', RECIPIENTS / parkSeconds)
  answer('resume answers', resumeMs)
  note(`affected_deliveries ${count(resumed.body.affected_deliveries)}`)
  rate('released, recipients/s, delivery going on meanwhile', RECIPIENTS / releaseSeconds)
  answer('resume under a broader pause answers', kept.ms)
  report({ name: 'moved to the broader pause, recipients/s', value: count(kept.perSecond) })
  answer(`resume beside a pause that matches a third of ${count(OVERLAPPING)} held`, parted.ms)
  note(`affected_deliveries ${count(parted.affected)}; moved and released in ${parted.seconds.toFixed(1)} s`)
  answer('the same, each in a message of its own', single.ms)
}

/** All that the tenant's pause holds stays held, by the account's. */
async function resumeUnderABroaderPause(
  client: pg.Client,
  post: (path: string, body?: object) => ReturnType<typeof apiFetch>,
  tenantId: string,
): Promise<{ ms: number; perSecond: number }> {
  const { body: paused } = await post(`/v1/tenants/${tenantId}/pause`)
  await until(client, `select parked_at is not null as done from suspensions where id = '${paused.id}'`)
  const { body: broader } = await post('/v1/suspensions', { scope_type: 'account' })
  await until(client, `select parked_at is not null as done from suspensions where id = '${broader.id}'`)
  const held = await client.query(`select count(*)::int from queue where suspension_id = '${paused.id}'`)
  const began = performance.now()
  await post(`/v1/tenants/${tenantId}/resume`)
  const ms = performance.now() - began
  await until(client, `select drained_at is not null as done from suspensions where id = '${paused.id}'`)
  return { ms, perSecond: held.rows[0].count / ((performance.now() - began) / 1000) }
}

/** Of what the tenant's pause holds, a third carries a tag that is paused as well. */
async function resumeBesideAnOverlappingPause(
  client: pg.Client,
  post: (path: string, body?: object) => ReturnType<typeof apiFetch>,
  { server, perMessage }: { server: BenchServer; perMessage: number },
): Promise<{ ms: number; affected: number; seconds: number }> {
  await client.query('truncate queue, suspension_holds')
  await client.query(`update suspensions set status = 'resumed', resumed_at = now(), drained_at = now()`)
  await fill(client, server, { recipients: OVERLAPPING, perMessage })
  const { body: paused } = await post(`/v1/tenants/${server.tenantId}/pause`)
  await until(client, `select parked_at is not null as done from suspensions where id = '${paused.id}'`)
  const { body: tag } = await post('/v1/suspensions', { scope_type: 'rule', scope_value: 'tag:third' })
  await until(client, `select parked_at is not null as done from suspensions where id = '${tag.id}'`)
  const began = performance.now()
  const { body: resumed } = await post(`/v1/tenants/${server.tenantId}/resume`)
  const ms = performance.now() - began
  await until(client, `select drained_at is not null as done from suspensions where id = '${paused.id}'`)
  return { ms, affected: resumed.affected_deliveries, seconds: (performance.now() - began) / 1000 }
}

const answer = (name: string, ms: number): void =>
  report({ name, value: `${ms.toFixed(0)} ms`, target: `<= ${ANSWER_MS_MAX} ms`, isMet: ms <= ANSWER_MS_MAX })

const rate = (name: string, value: number): void =>
  report({ name, value: count(value), target: `>= ${count(PER_SECOND_MIN)}`, isMet: value >= PER_SECOND_MIN })

async function until(client: pg.Client, question: string): Promise<void> {
  while (!(await client.query(question)).rows[0].done) await delay(50)
}

/** Deferred until tomorrow, so that they wait. */
async function fill(
  client: pg.Client,
  { tenantId }: BenchServer,
  { recipients, perMessage }: { recipients: number; perMessage: number },
): Promise<void> {
  const { rows } = await client.query('select account_id from tenants where id = $1', [tenantId])
  await client.query(
    `with made as (
       select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint + i), 12, '0') || substr(md5(i::text), 1, 20))::uuid as id,
         case when i % 3 = 0 then '["third"]' else '[]' end::jsonb as tags
       from generate_series(1, ${recipients / perMessage}) as i
     ), m as (
       insert into messages (id, account_id, tenant_id, sender, sender_domain, from_header, subject, rfc_message_id, tags,
         metadata, size, recipients, is_sandbox, needs_smtputf8, has_unsubscribe, created_at)
       select id, $1, $2, 'a@acme.sluice.test', 'acme.sluice.test', 'a@acme.sluice.test', 's', '<x@y.test>', tags, '{}', 500,
         ${perMessage}, true, false, false, now() from made
     ), d as (
       insert into deliveries (message_id, n, account_id, tenant_id, recipient, kind, status, attempts, updated_at)
       select id, n, $1, $2, 'user' || n || '@example.com', 'to', 'open', 1, now()
       from made, generate_series(0, ${perMessage - 1}) as n
     )
     insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, due_at, attempts,
       accepted_at, updated_at)
     select id, n, $1, $2, 'user' || n || '@example.com', 'example.com', 'deferred', now(), now() + interval '1 day', 1,
       now(), now()
     from made, generate_series(0, ${perMessage - 1}) as n`,
    [rows[0].account_id, tenantId],
  )
  await client.query(
    `insert into tenant_counters values ($1, 'epoch', 0, 'epoch', 0, 'epoch', 0, 'epoch', 0, 'epoch') on conflict do nothing`,
    [tenantId],
  )
  await client.query('vacuum analyze queue')
}
