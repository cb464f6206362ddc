// Windows of quotas and rates. Pure.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { add, current, NEVER, refusalOf } from './windows.ts'

const LIMITS = { rate_per_minute: 10, rate_per_hour: null, quota_daily: null, quota_monthly: null }

test('a request that began before the window ended does not take back what is counted in the next one', () => {
  const before = new Date('2026-01-31T23:59:59.900Z')
  const after = new Date('2026-02-01T00:00:00.100Z')
  const next = add(current(NEVER, after), 10)
  assert.deepEqual(current(next, before), next)
  assert.equal(refusalOf(current(next, before), LIMITS, 1, before)?.code, 'rate_limited')
})

test('windows that have ended begin at zero, and so do those of a clock that was far ahead', () => {
  const full = add(current(NEVER, new Date('2026-01-31T23:59:30Z')), 10)
  const later = current(full, new Date('2026-02-01T00:00:00Z'))
  assert.deepEqual([later.minute_count, later.hour_count, later.day_count, later.month_count], [0, 0, 0, 0])
  const setBack = current(full, new Date('2026-01-31T20:00:00Z'))
  assert.deepEqual([setBack.minute_count, setBack.hour_count, setBack.day_count], [0, 0, 10])
})
