// What observing costs acceptance: roll-ups, fan-out to one webhook, alerts and the guardian at work, against the same server
// with all of them stopped by their own locks.
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { locks } from '../src/platform/db/locks.ts'
import { databaseClient } from './latency.ts'
import { startHookSink } from './support/hook-sink.ts'
import { apiFetch, httpPostLoad } from './support/post-load.ts'
import { count, heading, median, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const ROUNDS = 3
const MESSAGES = 4_000

export async function benchObserved(): Promise<void> {
  heading(`Observing: acceptance of ${count(MESSAGES)} messages with and without observers (medians of ${ROUNDS})`)
  const server = await startServer({ LOG_LEVEL: 'warn', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const client = await databaseClient(server)
  const sink = await startHookSink()
  await apiFetch(server, '/v1/webhooks', { url: `${sink.url}/all` }, server.bearer)
  await accept(server, 500)
  const rounds: { alone: number; observed: number; behindSeconds: number }[] = []
  for (let n = 0; n < ROUNDS; n++) {
    await settled(client)
    await client.query('begin')
    await client.query('select from tails for update')
    await client.query('select pg_advisory_xact_lock($1)', [locks.guardian])
    const alone = await accept(server, MESSAGES)
    await client.query('rollback')
    await settled(client)
    const observed = await accept(server, MESSAGES)
    const ended = performance.now()
    await caughtUp(client, ['metrics'])
    rounds.push({ alone, observed, behindSeconds: (performance.now() - ended) / 1000 })
  }
  await client.end()
  await server.stop()
  await sink.stop()
  report({ name: 'accepted without observers, messages/s', value: count(median(rounds.map(each => each.alone))) })
  report({ name: 'accepted with observers, messages/s', value: count(median(rounds.map(each => each.observed))) })
  const ratio = median(rounds.map(each => each.observed / each.alone))
  report({ name: 'acceptance, ratio', value: ratio.toFixed(2), target: '>= 0.75', isMet: ratio >= 0.75 })
  const behind = Math.max(...rounds.map(each => each.behindSeconds))
  report({
    name: 'roll-ups done after the last acceptance, worst',
    value: `${behind.toFixed(1)} s`,
    target: '<= 2 s',
    isMet: behind <= 2,
  })
}

async function accept(server: BenchServer, requests: number): Promise<number> {
  const seconds = await httpPostLoad({
    url: `${server.url}/v1/messages`,
    bearer: server.bearer,
    connections: 64,
    requests,
    body: {
      tenant_id: server.tenantId,
      from: 'a@acme.sluice.test',
      to: ['u@example.com'],
      subject: 'bench',
      text: `${'abcdefghi '.repeat(7)}\n`.repeat(55),
    },
  })
  return requests / seconds
}

/** Until everything is delivered, counted and pushed. */
async function settled(client: pg.Client): Promise<void> {
  const open = `select (select count(*) from queue) + (select count(*) from webhook_attempts
    where status in ('pending', 'failed')) as open`
  do await caughtUp(client)
  while (Number((await client.query(open)).rows[0].open) > 0)
}

/** Until these tails, or all, have read what was there when we asked. */
async function caughtUp(client: pg.Client, names: string[] | null = null): Promise<void> {
  const { rows } = await client.query('select max(id)::bigint as last from events')
  const behind =
    'select count(*)::int as behind from tails where cursor < $1 and ($2::text[] is null or name = any($2))'
  while ((await client.query(behind, [rows[0].last, names])).rows[0].behind > 0) await delay(20)
}
