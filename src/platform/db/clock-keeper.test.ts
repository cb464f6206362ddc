// The service's time is the database's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { systemClock } from '../clock.ts'
import { steerableClock } from '../../../test/support/clock.ts'
import { ClockKeeper } from './clock-keeper.ts'
import { sql } from './sql.ts'

test('a machine whose clock is wrong writes by the database’s time', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { db } = box.app.world
  box.clock.skew(-4_000)
  await new ClockKeeper(db, box.clock).look()
  const { tenant } = await anAccount({ box })
  const { behind } = await db.one<{ behind: number }>(
    sql`select extract(epoch from clock_timestamp() - created_at)::float as behind from tenants where id = ${tenant.id}`,
  )
  assert.ok(Math.abs(behind) < 2, `${behind} s`)
  assert.equal((await box.client().get('/readyz')).status, 200)
})

test('a clock follows what is certain, and does not tremble', () => {
  const offsetOf = (clock: ReturnType<typeof systemClock>) => clock.now().getTime() - clock.machine().getTime()
  const clock = systemClock()
  clock.follow({ aheadMs: 30, uncertainMs: 1 })
  clock.follow({ aheadMs: 300, uncertainMs: 400 })
  assert.ok(Math.abs(offsetOf(clock)) <= 2)
  clock.follow({ aheadMs: -3_000, uncertainMs: 5 })
  assert.ok(Math.abs(offsetOf(clock) + 3_000) <= 2)
  clock.follow({ aheadMs: 0, uncertainMs: 1 })
  assert.ok(Math.abs(offsetOf(clock)) <= 2)
})

test('a clock that is moved keeps what it was moved by', () => {
  const clock = steerableClock()
  clock.advance(60_000)
  clock.skew(-3_000)
  clock.follow({ aheadMs: 3_000, uncertainMs: 0 })
  const [before, moved, after] = [clock.machine(), clock.now(), clock.machine()].map(time => time.getTime())
  assert.ok(before! + 63_000 - 2 <= moved! && moved! <= after! + 63_000 + 2)
})
