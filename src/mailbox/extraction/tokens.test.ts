// The cap on tokens: reserved, settled, and given back by leases and months.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import type { Refusal } from '../../platform/refusal.ts'
import { extractionWorkers } from './feature.ts'
import { reserve, settle } from './tokens.ts'

const BY = system('test')

async function aCap(cap: number) {
  const box = await theBox()
  const account = await anAccount({ tenants: 0 })
  await box.operator.patch(`/admin/v1/accounts/${account.id}`, { ai_monthly_token_cap: cap })
  const { world } = box.app
  return {
    box,
    world,
    used: async (): Promise<number> => (await account.api.get('/v1/account')).body.ai_tokens_used,
    reserve: (promptTokens: number, { outputMin = 10, outputMax = 50 } = {}) =>
      reserve(world, BY, { accountId: account.id, promptTokens, outputMin, outputMax }),
    setCap: (ai_monthly_token_cap: number) =>
      box.operator.patch(`/admin/v1/accounts/${account.id}`, { ai_monthly_token_cap }),
  }
}

const isOver = (error: Refusal): boolean => error.code === 'ai_token_cap'

test('what was used takes the place of what was reserved', async () => {
  const { world, reserve, used } = await aCap(200)
  const first = await reserve(100)
  assert.equal(first.tokens, 150)
  await assert.rejects(reserve(50), isOver)
  await settle(world, BY, first, 40)
  assert.equal(await used(), 40)
  assert.equal((await reserve(100)).tokens, 150)
})

test('near the cap an answer may be shorter, and below a minimum there is none', async () => {
  const { world, reserve } = await aCap(120)
  const shorter = await reserve(100)
  assert.equal(shorter.tokens, 120)
  await settle(world, BY, shorter, 0)
  await assert.rejects(reserve(111), isOver)
})

test('the time to wait is that of the calls in flight while they are what is in the way, else the end of the month', async () => {
  const { world, reserve } = await aCap(200)
  const first = await reserve(150)
  await assert.rejects(reserve(150), (error: Refusal) => isOver(error) && error.retryAfterSeconds! <= 60)
  await settle(world, BY, first, 150)
  const secondsLeft = (now: Date) => (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime()) / 1000
  await assert.rejects(reserve(150), (error: Refusal) => {
    assert.ok(Math.abs(error.retryAfterSeconds! - secondsLeft(world.clock.now())) < 60)
    return isOver(error)
  })
})

test('more than was reserved counts as far as the cap has room for it, and no other call loses its own', async () => {
  const { world, reserve, used } = await aCap(300)
  const [first, second] = [await reserve(50), await reserve(50)]
  await settle(world, BY, first, 1_000_000)
  assert.equal(await used(), 200)
  await settle(world, BY, second, 100)
  assert.equal(await used(), 300)
})

test('a cap that was lowered below what is used refuses, and takes nothing back', async () => {
  const { world, reserve, used, setCap } = await aCap(300)
  const [first, second] = [await reserve(50), await reserve(50)]
  await settle(world, BY, first, 90)
  await setCap(20)
  await settle(world, BY, second, 90)
  assert.equal(await used(), 90)
  await assert.rejects(reserve(1, { outputMin: 1 }), isOver)
})

test('while many race, used and reserved together are never above the cap, and what fits is never refused', async () => {
  const cap = 5_000
  const { world, reserve, used } = await aCap(cap)
  const standing = (accountId: string) =>
    world.db.one<{ taken: number }>(sql`
      select m.used + coalesce((select sum(tokens) from ai_reservations r where r.account_id = m.account_id), 0)::bigint
        as taken
      from ai_token_months m where m.account_id = ${accountId}`)
  const counted = { least: 0, most: 0 }
  const race = async (n: number): Promise<void> => {
    const reservation = await reserve(40 + (n % 7))
    assert.ok((await standing(reservation.accountId)).taken <= cap)
    // Some say that they used more than they may, which counts as far as the cap allows.
    const tokens = n % 10 === 9 ? reservation.tokens * 2 : n % reservation.tokens
    await settle(world, BY, reservation, tokens)
    assert.ok((await standing(reservation.accountId)).taken <= cap)
    counted.least += Math.min(tokens, reservation.tokens)
    counted.most += tokens
  }
  const results = await Promise.allSettled(Array.from({ length: 60 }, (_, n) => race(n)))

  const failures = results.flatMap(result => (result.status === 'rejected' ? [result.reason as Refusal] : []))
  assert.ok(failures.every(isOver), String(failures[0]))
  // All at once they would need 60 times 96 at the most; one after the other far less than the cap.
  assert.ok(failures.length < 60 - Math.floor(cap / 96), `${failures.length} were refused`)
  const total = await used()
  assert.ok(counted.least <= total && total <= counted.most, `${total} was counted`)
})

test('what a process that died has reserved comes back when its lease lapses, and takes nothing from others afterwards', async () => {
  const { box, world, reserve, used } = await aCap(200)
  const lost = await reserve(150)
  await assert.rejects(reserve(100), isOver)
  box.clock.advance(180_001)
  const next = await reserve(100)
  assert.equal(next.tokens, 150)
  await settle(world, BY, lost, 200)
  assert.equal(await used(), 50)
  await settle(world, BY, next, 150)
  assert.equal(await used(), 200)
})

test('a month begins with nothing used; a call over its end counts for the month it began in', async () => {
  const { box, world, reserve, used } = await aCap(200)
  const now = box.clock.now()
  const late = await reserve(100)
  box.clock.advance(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime() + 1_000)
  assert.equal((await reserve(150)).tokens, 200)
  await settle(world, BY, late, 100)
  assert.equal(await used(), 0)
  const months = await world.db.many<{ used: number }>(sql`
    select used from ai_token_months where account_id = ${late.accountId} order by month`)
  assert.deepEqual(
    months.map(month => month.used),
    [100, 0],
  )
})

test('reservations that lapsed long ago are removed', async () => {
  const { box, world, reserve } = await aCap(200)
  const { id } = await reserve(100)
  box.clock.advance(2 * 3_600_000)
  const [worker] = extractionWorkers
  assert.ok(worker?.kind === 'periodic')
  await worker.run(world, new AbortController().signal)
  assert.equal(await world.db.maybe(sql`select 1 as found from ai_reservations where id = ${id}`), null)
})
