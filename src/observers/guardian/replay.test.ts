// Trying a rule out over as much as is read at once: the answer is that of plain sums, and others go on meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { bestOfThree, longestTurn } from '../../../test/support/main-thread.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { runAtOnce } from '../../platform/slices.ts'
import { aWatchedAccount, numbers, type Watched } from './guardian.fixture.ts'
import { baselineOf, METRICS, NOTHING, type Counters } from './metric.ts'
import type { Chunk, CountedRow, LoginRow } from './replay-queries.ts'
import { replayCounted, type Replay } from './replay-firings.ts'
import { isOver, limitOf, measured, type Rule } from './rule.ts'

const LIMIT_MS = 50
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const [START_MS, END_MS] = [Date.parse('2026-05-20T00:00:00Z'), Date.parse('2026-06-10T00:00:00Z')]
const WINDOWS = [60, 600, 3600, 9000, 86_400, 604_800]

type Row = CountedRow | LoginRow

test('firings are those of plain sums over minutes and hours, however the rows are cut into chunks', t => {
  const seed = Number(process.env['SEED'] ?? 20_261_116)
  t.diagnostic(`seed ${seed}`)
  const upTo = numbers(seed)
  let [found, compared] = [0, 0]
  for (let round = 0; round < 300; round++) {
    const rule = aRule(upTo)
    const minutes = ['a', 'b', 'c'].flatMap(scope => minutesOf(scope, rule, upTo))
    const hours = rule.baseline_multiplier === null || rule.metric === 'distinct_ips' ? [] : hoursOf(minutes)
    const from = new Date(START_MS + 7 * DAY_MS + upTo(10 * DAY_MS))
    const chunked = { minutes: chunks(minutes, upTo), hours: chunks(hours, upTo) }

    const { firings, evaluated } = runAtOnce(replayCounted(rule, chunked, from))

    assert.deepEqual(firings, plainly(rule, { minutes, hours, from: from.getTime() }), `round ${round}`)
    assert.equal(evaluated, new Set(minutes.map(row => row.scope_value)).size)
    found += firings.length
    compared += firings.filter(firing => firing.threshold !== rule.threshold).length
  }
  assert.ok(found > 1_000 && compared > 100, `only ${found} firings, ${compared} of them above an average`)
})

function aRule(upTo: (below: number) => number): Rule {
  return {
    id: '',
    name: 'trial',
    metric: METRICS[upTo(METRICS.length)]!,
    scope_type: 'tenant',
    window_seconds: WINDOWS[upTo(WINDOWS.length)]!,
    threshold: upTo(3) === 0 ? 0 : upTo(40) / 10,
    min_volume: upTo(10),
    min_count: upTo(3),
    baseline_multiplier: upTo(2) === 0 ? null : (1 + upTo(30)) / 10,
    action: 'alert',
    severity: 'info',
    enabled: true,
  }
}

/** In bursts, so that some windows hold much and others nothing. */
function minutesOf(scope_value: string, { metric }: Rule, upTo: (below: number) => number): Row[] {
  const starts = new Set<number>()
  for (let burst = upTo(12); burst > 0; burst--) {
    const at = START_MS + upTo((END_MS - START_MS) / MINUTE_MS) * MINUTE_MS
    for (let n = upTo(12); n > 0; n--) starts.add(at + upTo(200) * MINUTE_MS)
  }
  return [...starts]
    .toSorted((left, right) => left - right)
    .flatMap((start_ms): Row[] => {
      const row = { scope_value, tenant_id: 'tenant', start_ms }
      if (metric === 'distinct_ips') {
        return Array.from({ length: 1 + upTo(3) }, () => ({ ...row, address: `192.0.2.${upTo(9)}` }))
      }
      const { distinct_ips: _, ...names } = NOTHING
      const counts = Object.keys(names).map(name => [name, upTo(12)])
      return [{ ...row, ...(Object.fromEntries(counts) as typeof names) }]
    })
}

const sumOf = (rows: readonly Row[]): Counters => {
  const sums = { ...NOTHING, distinct_ips: new Set(rows.map(row => ('address' in row ? row.address : ''))).size }
  for (const row of rows) {
    if ('address' in row) continue
    for (const name of Object.keys(NOTHING) as (keyof Counters)[]) {
      if (name !== 'distinct_ips') sums[name] += row[name]
    }
  }
  return sums
}

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS

const hoursOf = (minutes: readonly Row[]): CountedRow[] =>
  [...Map.groupBy(minutes, row => `${row.scope_value} ${hourOf(row.start_ms)}`).values()].map(rows => {
    const { distinct_ips: _, ...sums } = sumOf(rows)
    const { scope_value, tenant_id, start_ms } = rows[0]!
    return { scope_value, tenant_id, start_ms: hourOf(start_ms), ...sums }
  })

function chunks(rows: readonly Row[], upTo: (below: number) => number): Chunk[] {
  const cut: Chunk[] = []
  for (let start = 0; start < rows.length;) {
    const some = rows.slice(start, start + 1 + upTo(9))
    cut.push({ count: some.length, json: JSON.stringify(some) })
    start += some.length
  }
  return cut
}

/** Every sum made afresh from all rows. */
function plainly(
  rule: Rule,
  { minutes, hours, from }: { minutes: readonly Row[]; hours: readonly CountedRow[]; from: number },
): Replay['firings'] {
  const windowMs = rule.window_seconds * 1000
  return [...Map.groupBy(minutes, row => row.scope_value)].flatMap(([scope, rows]) => {
    const firings: Replay['firings'] = []
    for (const start of new Set(rows.map(row => row.start_ms))) {
      if (start < from) continue
      const windowStart = start + 59_999 - windowMs
      const result = measured(rule, sumOf(rows.filter(row => row.start_ms >= windowStart && row.start_ms <= start)))
      const until = hourOf(windowStart)
      const past = hours.filter(
        hour => hour.scope_value === scope && hour.start_ms < until && hour.start_ms >= until - 7 * DAY_MS,
      )
      const first = hours.find(hour => hour.scope_value === scope && hour.start_ms < until)
      const seconds = first ? Math.min(7 * DAY_MS, until - first.start_ms) / 1000 : 0
      const history = first ? { counters: sumOf(past), seconds } : null
      const limit = limitOf(rule, baselineOf(rule.metric, rule.window_seconds, history))
      if (!isOver(rule, result, limit)) continue
      const at = new Date(start).toISOString()
      const peak = { peak_value: result.value, threshold: limit, volume: result.volume }
      const last = firings.at(-1)
      if (last && start - Date.parse(last.to) < windowMs) {
        Object.assign(last, { to: at }, result.value > last.peak_value && peak)
      } else {
        firings.push({ scope: `tenant:${scope}`, tenant_id: 'tenant', from: at, to: at, ...peak })
      }
    }
    return firings
  })
}

const RULE = { metric: 'recipients', scope_type: 'sender', window_seconds: 3600, threshold: 1e9 }

/** So many senders, each active in every hour of that time. */
async function countSenders(
  { world, account, tenantId }: Watched,
  table: 'metric_minutes' | 'metric_hours',
  { senders, from, to }: { senders: number; from: Date; to: Date },
): Promise<void> {
  await world.db.many(sql`
    insert into ${table === 'metric_minutes' ? sql`metric_minutes` : sql`metric_hours`}
      (account_id, scope_type, scope_value, tenant_id, start, recipients, delivered, hard_bounces,
        soft_bounces, blocks, deferrals, complaints, auth_failures)
    select ${account.id}, 'sender', 's' || n || '@acme.example', ${tenantId}, start, 1 + (n * extract(hour from start)) % 7,
      0, 0, 0, 0, 0, 0, 0
    from generate_series(1, ${senders}::integer) n,
      generate_series(${from}::timestamptz, ${to}::timestamptz - interval '1 second', interval '1 hour') start`)
}

async function longestOf({ account }: Watched, trial: object, evaluated: number): Promise<number> {
  return bestOfThree(LIMIT_MS, () =>
    longestTurn(async () => {
      const { status, body } = await account.api.post('/v1/rules/test', trial)
      assert.deepEqual([status, body.evaluated], [200, evaluated], JSON.stringify(body).slice(0, 200))
    }),
  )
}

test('a trial with averages over a month of many senders blocks the main thread for a moment at a time', async t => {
  const watched = await aWatchedAccount()
  const to = new Date(Math.floor(watched.box.clock.now().getTime() / DAY_MS) * DAY_MS)
  const from = new Date(to.getTime() - 31 * DAY_MS)
  await countSenders(watched, 'metric_minutes', { senders: 54, from, to })
  await countSenders(watched, 'metric_hours', { senders: 54, from: new Date(from.getTime() - 7 * DAY_MS), to })
  const trial = { ...RULE, from: from.toISOString(), to: to.toISOString(), baseline_multiplier: 1.5 }
  const longestMs = await longestOf(watched, trial, 54)
  t.diagnostic(`longest turn ${longestMs.toFixed(1)} ms`)
  assert.ok(longestMs < LIMIT_MS, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})

test('a trial over fifty thousand senders blocks the main thread for a moment at a time', async t => {
  const watched = await aWatchedAccount()
  const to = new Date(Math.floor(watched.box.clock.now().getTime() / DAY_MS) * DAY_MS)
  const from = new Date(to.getTime() - 3_600_000)
  await countSenders(watched, 'metric_minutes', { senders: 50_000, from, to })
  const trial = { ...RULE, from: from.toISOString(), to: to.toISOString(), threshold: 0 }
  const longestMs = await longestOf(watched, trial, 50_000)
  t.diagnostic(`longest turn ${longestMs.toFixed(1)} ms`)
  assert.ok(longestMs < LIMIT_MS, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})

test('of the trials that an account asks for at once two are under way, and the next one waits', async t => {
  // Enough that the account has connections left for what else it asks.
  const roomy = await aBox({ until: t, environment: { ROLES: 'api', DATABASE_POOL: '10' } })
  const { box, world, account } = await aWatchedAccount({ box: roomy })
  const to = box.clock.now()
  const trial = { ...RULE, from: new Date(to.getTime() - HOUR_MS).toISOString(), to: to.toISOString() }
  const reading = async (): Promise<number> =>
    (
      await world.db.one<{ total: number }>(sql`
        select count(*) as total from pg_locks l join pg_database d on d.oid = l.database
        where not l.granted and l.relation = 'metric_minutes'::regclass and d.datname = current_database()`)
    ).total
  const { promise: isOpen, resolve: open } = Promise.withResolvers<void>()
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>()
  const lock = world.db.transact(system('test'), async tx => {
    await tx.run(sql`lock table metric_minutes in access exclusive mode`)
    locked()
    await isOpen
  })
  await isLocked
  const trials = [1, 2, 3].map(() => account.api.post('/v1/rules/test', trial))
  try {
    await eventually('two read', async () => (await reading()) >= 2)
    for (let n = 0; n < 5; n++) await account.api.get('/v1/account')
    assert.equal(await reading(), 2)
  } finally {
    open()
    await lock
  }
  assert.deepEqual(
    (await Promise.all(trials)).map(({ status }) => status),
    [200, 200, 200],
  )
})
