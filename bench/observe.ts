// What is observed: how fast the dashboard answers for an account with many tenants, and whether the roll-up keeps up
// with the journal.
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { databaseClient } from './latency.ts'
import { count, heading, median, note, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const TENANTS = 1_000
const SAMPLES = 200
const MESSAGES_PER_SECOND = 2_000
const SECONDS = 15
const BURST = 100_000

export async function benchObserve(): Promise<void> {
  heading(`Observing: ${count(TENANTS)} tenants with two domains each, mail in every second minute of 24 hours`)
  const server = await startServer({ LOG_LEVEL: 'warn' })
  const client = await databaseClient(server)
  const { rows } = await client.query('select account_id from tenants where id = $1', [server.tenantId])
  const accountId: string = rows[0].account_id
  await fill(client, accountId)
  await measureReads(server)
  heading(`Roll-up: ${count(MESSAGES_PER_SECOND)} messages a second of ${count(TENANTS)} tenants, two events each`)
  await measureLag(client, accountId)
  await measureBurst(client, accountId, TENANTS)
  await measureBurst(client, accountId, 1)
  await client.end()
  await server.stop()
}

async function measureReads(server: BenchServer): Promise<void> {
  for (const path of ['/v1/overview', '/v1/reputation']) {
    const times: number[] = []
    let bytes = 0
    for (let n = 0; n < SAMPLES + 20; n++) {
      const began = performance.now()
      const reply = await fetch(server.url + path, { headers: { authorization: `Bearer ${server.bearer}` } })
      bytes = (await reply.arrayBuffer()).byteLength
      if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}`)
      if (n >= 20) times.push(performance.now() - began)
    }
    const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
    report({ name: `${path}, p50 (${count(bytes / 1024)} kB)`, value: `${median(times).toFixed(0)} ms` })
    report({
      name: `${path}, p99`,
      value: `${p99.toFixed(0)} ms`,
      target: '<= 150 ms',
      isMet: p99 <= 150,
    })
  }
}

/** A day as the roll-up would have written it, oldest minute first. */
async function fill(client: pg.Client, accountId: string): Promise<void> {
  await client.query('set synchronous_commit = off')
  await client.query(
    `insert into tenants (id, account_id, external_id, name, created_at)
     select gen_random_uuid(), $1, 'bench-' || n, 'Bench tenant ' || n, now() from generate_series(2, ${TENANTS}) as n`,
    [accountId],
  )
  const counters = '10, 9, 0, 0, 0, 1, 0, 0'
  await client.query(
    `insert into metric_minutes
     select $1, scope, case scope when 'tenant' then id::text else 'd' || nth || '.' || external_id || '.test' end, id,
       start, ${counters}
     from generate_series(date_bin('1 minute', now() - interval '25 hours', '2000-01-01Z'), now(), '1 minute') as start
     cross join tenants cross join (values ('tenant', 0), ('domain', 1), ('domain', 2)) as of (scope, nth)
     where account_id = $1 and (extract(epoch from start)::bigint / 60 + hashtext(external_id)) % 2 = 0`,
    [accountId],
  )
  await client.query(
    `insert into metric_minutes select account_id, 'account', account_id::text, '00000000-0000-0000-0000-000000000000', start,
       ${counters} from metric_minutes where scope_type = 'tenant' group by account_id, start`,
  )
  const { rowCount } = await client.query(
    `insert into metric_hours select account_id, scope_type, scope_value, tenant_id, date_bin('1 hour', start, '2000-01-01Z'),
       sum(recipients), sum(delivered), sum(hard_bounces), sum(soft_bounces), sum(blocks), sum(deferrals), sum(complaints),
       sum(auth_failures) from metric_minutes group by 1, 2, 3, 4, 5 order by 5`,
  )
  note(`${count(rowCount ?? 0)} rows of hours; vacuum`)
  await client.query('vacuum analyze')
}

/** How old the oldest event is that is not counted yet, looked at all the time while events come. */
async function measureLag(client: pg.Client, accountId: string): Promise<void> {
  const lags: number[] = []
  const end = performance.now() + SECONDS * 1000
  let written = 0
  const began = performance.now()
  while (performance.now() < end) {
    const due = Math.floor(((performance.now() - began) / 1000) * MESSAGES_PER_SECOND) - written
    if (due > 0) await append(client, { accountId, messages: due, tenants: TENANTS })
    written += due
    const { rows } = await client.query(`
      select extract(epoch from clock_timestamp() - created_at)::float8 as lag from events
      where id > (select cursor from tails where name = 'metrics') order by id limit 1`)
    lags.push(rows[0]?.lag ?? 0)
    await delay(50)
  }
  const rate = (2 * written) / ((performance.now() - began) / 1000)
  report({ name: 'events/s written', value: count(rate) })
  report({ name: 'lag of the roll-up, median', value: `${median(lags).toFixed(2)} s` })
  const worst = Math.max(...lags)
  report({ name: 'lag of the roll-up, worst', value: `${worst.toFixed(2)} s`, target: '<= 2 s', isMet: worst <= 2 })
}

async function measureBurst(client: pg.Client, accountId: string, tenants: number): Promise<void> {
  // In one transaction: the reader finds all of it at once, and does not rest between.
  await client.query('begin')
  for (let done = 0; done < BURST / 2; done += 10_000) await append(client, { accountId, messages: 10_000, tenants })
  await client.query('commit')
  const left = async (): Promise<number> => {
    const { rows } = await client.query(
      `select (select last_value from events_id_seq) - cursor as left from tails where name = 'metrics'`,
    )
    return Number(rows[0].left)
  }
  const [first, began] = [await left(), performance.now()]
  while ((await left()) > 0) await delay(20)
  const seconds = (performance.now() - began) / 1000
  report({ name: `events/s counted when behind, ${count(tenants)} tenants`, value: count(first / seconds) })
  report({ name: 'microseconds per event', value: ((seconds / first) * 1e6).toFixed(0) })
}

interface Burst {
  accountId: string
  messages: number
  tenants: number
}

/** Messages and their events, straight into the tables: what is measured is the reader. */
async function append(client: pg.Client, { accountId, messages, tenants }: Burst): Promise<void> {
  await client.query(
    `with made as (
       insert into messages (id, account_id, tenant_id, sender, sender_domain, from_header, subject, rfc_message_id, tags,
         metadata, size, recipients, is_sandbox, needs_smtputf8, has_unsubscribe, created_at)
       select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || substr(md5(random()::text), 1, 20))::uuid,
         $1, id, 'news@' || domain, domain, 'x', 's', '<x@y.test>', '[]', '{}', 500, 1, true, false, false, now()
       from (select id, 'd' || (1 + floor(random() * 2)) || '.' || external_id || '.test' as domain
         from generate_series(1, $2) as n
         join (select id, external_id, row_number() over () as nth from tenants where account_id = $1) t
           on nth = 1 + n * 7919 % $3) sent
       returning id, tenant_id)
     insert into events (account_id, tenant_id, message_id, recipient, type, created_at, data)
     select $1, tenant_id, id, 'user@example.com', type, clock_timestamp(), '{"smtp_code": 250, "attempt": 1}'
     from made cross join (values ('accepted'), ('delivered')) as happened (type)`,
    [accountId, messages, tenants],
  )
}
