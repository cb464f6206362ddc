// One pass of the guardian over 10,000 active tenants, with a week of roll-ups behind them, at the worst minute of the hour.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { buildApp } from '../src/app.ts'
import { evaluate, type Pass } from '../src/observers/guardian/evaluate.ts'
import { HourCache } from '../src/observers/guardian/hour-cache.ts'
import { steerableClock } from '../test/support/clock.ts'
import { readConfig } from '../src/platform/config.ts'
import { migrate, readMigrations } from '../src/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../src/platform/log.ts'
import { Secrets } from '../src/platform/secrets.ts'
import { count, heading, median, note, report } from './support/report.ts'

const TENANTS = 10_000
const ACCOUNTS = 20
const PASSES = 7
const SECONDS_MAX = 2
/** Two minutes past the hour: nearly the whole window has to be read as minutes. */
const NOW = new Date('2026-06-01T12:02:30.000Z')

export async function benchGuardian(): Promise<void> {
  heading(`Guardian: one pass over ${count(TENANTS)} tenants that send in every minute`)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => {} })
  await migrate(postgres.url, await readMigrations())
  await fill(postgres.url)
  const read = readConfig({ DATA_DIR: folder })
  if ('mistakes' in read) throw new Error(read.mistakes.join())
  const app = await buildApp({
    config: read.config,
    clock: steerableClock(NOW),
    log: createLog('warn'),
    databaseUrl: postgres.url,
    adminToken: 'bench',
    secrets: new Secrets('bench'),
  })
  const { world } = app
  const cache = new HourCache()
  const timed = async (): Promise<{ seconds: number; pass: Pass }> => {
    const began = performance.now()
    const pass = await evaluate(world, cache)
    if (!pass) throw new Error('somebody else is evaluating')
    return { seconds: (performance.now() - began) / 1000, pass }
  }
  const first = await timed()
  // Averages are read little by little and kept for an hour.
  const warming: number[] = []
  while (!cache.isComplete) warming.push((await timed()).seconds)
  const rounds: number[] = []
  for (let n = 0; n < PASSES; n++) rounds.push((await timed()).seconds)
  const { scopes, plans } = first.pass
  report({ name: 'scopes looked at', value: count(scopes) })
  report({ name: `first pass, ${plans} rules fire`, value: `${first.seconds.toFixed(2)} s` })
  report({
    name: `the ${warming.length} passes that read averages, worst`,
    value: `${Math.max(...warming).toFixed(2)} s`,
  })
  const [middle, worst] = [median(rounds), Math.max(...rounds)]
  const isMet = middle <= SECONDS_MAX
  report({ name: 'a pass, p50', value: `${middle.toFixed(2)} s`, target: `<= ${SECONDS_MAX} s`, isMet })
  report({ name: 'a pass, worst', value: `${worst.toFixed(2)} s` })
  await world.db.close()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

/** A week of hours and the minutes that windows can touch; one tenant in a hundred bounces too much. */
async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set synchronous_commit = off')
  await client.query(`insert into accounts (id, name, data_region, sandbox, created_at)
    select ('00000000-0000-0000-0001-' || lpad(i::text, 12, '0'))::uuid, 'a', 'eu', false, now()
    from generate_series(1, ${ACCOUNTS}) i`)
  await client.query(`insert into tenants (id, account_id, external_id, name, created_at)
    select gen_random_uuid(), a.id, i::text, 't', now()
    from accounts a, generate_series(1, ${TENANTS / ACCOUNTS}) i`)
  const insert = (table: string, starts: string, factor: number): Promise<unknown> =>
    client.query(
      `insert into ${table} (account_id, scope_type, scope_value, tenant_id, start, recipients, delivered, hard_bounces,
         soft_bounces, blocks, deferrals, complaints, auth_failures)
       select t.account_id, 'tenant', t.id::text, t.id, start, 20 * ${factor}, 19 * ${factor},
         case when t.external_id::int % 100 = 0 then 2 else 0 end * ${factor}, 0, 0, 0, 0, 0
       from tenants t, ${starts}`,
      [NOW],
    )
  const series = (from: string, to: string, step: string): string =>
    `generate_series(date_trunc('hour', $1::timestamptz) - interval '${from}',
       date_trunc('minute', $1::timestamptz) - interval '${to}', interval '${step}') as start`
  note('hours')
  await insert('metric_hours', series('8 days', '0', '1 hour'), 60)
  note('minutes')
  await insert('metric_minutes', series('2 hours', '0', '1 minute'), 1)
  await client.query(
    `insert into metric_activity select account_id, 'tenant', id::text, id, $1::timestamptz from tenants`,
    [NOW],
  )
  await client.query('vacuum analyze')
  await client.end()
}
