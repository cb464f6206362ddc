// The short cuts (bounds from hours, kept sums) find exactly what adding up every minute finds.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { Look, type Finding } from './find-over.ts'
import { count, numbers } from './guardian.fixture.ts'
import { HourCache } from './hour-cache.ts'
import { add, isRate, measure, METRICS, NOTHING, type Counters } from './metric.ts'
import { RuleBook, type Override, type Scope } from './rule.ts'

const HOUR_MS = 3_600_000
const WINDOWS = [60, 1800, 3600, 9000, 86_400, 604_800]

interface Counted {
  scope: Scope
  start: number
  counters: Counters
}

test('findings are those of a plain sum over minutes, with and without an average, hour after hour', async t => {
  const seed = Number(process.env['SEED'] ?? 20_260_601)
  t.diagnostic(`seed ${seed}`)
  const upTo = numbers(seed)
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = box.app
  const [account_id, cache] = [randomUUID(), new HourCache()]
  const scopes = Array.from({ length: 6 }, (): Scope => {
    const tenant_id = randomUUID()
    return { account_id, scope_type: 'tenant', scope_value: tenant_id, tenant_id }
  })
  const counted: Counted[] = []
  const note = async (scope: Scope, secondsAgo: number): Promise<void> => {
    const counters = { ...NOTHING, recipients: upTo(40), delivered: upTo(30), hard_bounces: upTo(8), blocks: upTo(5) }
    Object.assign(counters, { soft_bounces: upTo(4), deferrals: upTo(6), complaints: upTo(2), auth_failures: upTo(3) })
    const at = await count(world, { accountId: account_id, tenantId: scope.tenant_id, secondsAgo }, counters)
    counted.push({ scope, start: Math.floor(at.getTime() / 60_000) * 60_000, counters })
  }
  const rules = METRICS.filter(metric => metric !== 'distinct_ips').flatMap((metric, m): Override[] =>
    WINDOWS.map((window_seconds, w) => ({
      id: randomUUID(),
      account_id,
      tenant_id: null,
      name: `${metric} ${window_seconds}`,
      metric,
      scope_type: 'tenant',
      window_seconds,
      threshold: isRate(metric) ? (5 + upTo(30)) / 100 : upTo(window_seconds > 9000 ? 300 : 20),
      min_volume: upTo(40),
      min_count: upTo(3),
      baseline_multiplier: (m + w) % 3 === 0 ? 1 + upTo(20) / 10 : null,
      action: 'alert',
      severity: 'info',
      enabled: true,
    })),
  )
  const book = new RuleBook(rules)
  box.clock.set(new Date('2026-06-30T21:17:20.000Z'))
  for (const scope of scopes) {
    const days = 1 + upTo(9)
    for (let n = 0; n < 25; n++) await note(scope, upTo(days * 86_400))
  }
  let found = 0
  for (let step = 0; step < 14; step++) {
    box.clock.advance([60, 600, 1500, 3600][upTo(4)]! * 1000 - 3_000)
    for (const scope of scopes.slice(0, 3)) await note(scope, upTo(600))
    const now = world.clock.now()
    cache.beginPass()
    const kept = await new Look(world.db, now, cache).findOver(book, scopes)
    const fresh = await new Look(world.db, now, new HourCache()).findOver(book, scopes)
    const plain = scopes.flatMap(scope => rules.flatMap(rule => naively(rule, scope, now.getTime(), counted)))
    assert.deepEqual(lines(kept), lines(plain), `step ${step} at ${now.toISOString()}, kept sums`)
    assert.deepEqual(lines(fresh), lines(plain), `step ${step} at ${now.toISOString()}`)
    found += plain.length
  }
  assert.ok(found > 200, `only ${found} findings`)
})

const lines = (findings: readonly Pick<Finding, 'rule' | 'scope' | 'value' | 'limit'>[]): string[] =>
  findings
    // The defaults are in force as well.
    .filter(({ rule }) => 'account_id' in rule)
    .map(({ rule, scope, value, limit }) => `${scope.tenant_id} ${rule.name} ${value.toFixed(9)} ${limit.toFixed(6)}`)
    .toSorted()

function naively(
  rule: Override,
  scope: Scope,
  now: number,
  all: readonly Counted[],
): Pick<Finding, 'rule' | 'scope' | 'value' | 'limit'>[] {
  const own = all.filter(each => each.scope === scope)
  const sum = (rows: readonly Counted[]): Counters => rows.reduce((before, each) => add(before, each.counters), NOTHING)
  const from = Math.ceil((now - rule.window_seconds * 1000) / 60_000) * 60_000
  const {
    value,
    count: number,
    volume,
  } = measure(rule.metric, sum(own.filter(({ start }) => start >= from && start <= now)))
  let limit = rule.baseline_multiplier !== null && rule.threshold === 0 ? Infinity : rule.threshold
  const until = Math.floor(from / HOUR_MS) * HOUR_MS
  const before = own.filter(({ start }) => start < until && start >= until - 168 * HOUR_MS)
  const first = Math.min(...own.map(({ start }) => Math.floor(start / HOUR_MS) * HOUR_MS))
  const past = measure(rule.metric, sum(before))
  const hasMean = until - first >= 24 * HOUR_MS && (!isRate(rule.metric) || past.volume > 0)
  if (rule.baseline_multiplier !== null && hasMean) {
    const windows = Math.min(168 * HOUR_MS, until - first) / (rule.window_seconds * 1000)
    limit = rule.baseline_multiplier * (isRate(rule.metric) ? past.value : past.value / windows)
  }
  return volume >= rule.min_volume && number >= rule.min_count && value > limit ? [{ rule, scope, value, limit }] : []
}
