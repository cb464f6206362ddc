// What statements over the queue read: the rows they are about, however long it is, however much is under way, and whatever
// was known of it when it was last analysed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import {
  claimDue,
  claimSiblings,
  markArrived,
  recordDeferred,
  recordFinal,
  releaseLeases,
  updateDeferrals,
  type Decided,
  type Verdict,
} from './attempts.ts'
import { recordUnsent, updateHeld, updateMoved } from './held.ts'
import type { QueuedRow } from './keys.ts'
import { extendLeases, updateBegun } from './leases.ts'
import { rowsRead } from './rows-read.fixture.ts'

const VERDICT: Verdict = {
  status: 'delivered',
  dueAt: null,
  smtpCode: 250,
  enhancedCode: null,
  response: 'OK',
  mxHost: null,
  bounceType: null,
  data: {},
}

test('recording a few outcomes reads only their rows of all that is under way', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const recipients = Array.from({ length: 800 }, (_, n) => `user${n}@example.com`)
  await account.api.post('/v1/messages', { tenant_id: account.tenant.id, from: 'a@b.test', to: recipients, text: 'x' })
  const { db } = box.app.world
  const leaseToken = crypto.randomUUID()
  const claimed = await db.transact(system('test'), tx =>
    claimDue(tx, {
      holderId: crypto.randomUUID(),
      leaseToken,
      leaseUntil: new Date(tx.now.getTime() + 30_000),
      limit: 600,
    }),
  )
  assert.equal(claimed.length, 600)
  const decided = claimed.map((row): Decided => ({ ...row, lease_token: leaseToken, verdict: VERDICT }))
  const later: Verdict = { ...VERDICT, status: 'deferred', dueAt: new Date('2030-01-01T00:00:00Z') }
  await db.transact(system('test'), async tx => {
    const before = await rowsRead(tx)
    assert.equal((await recordFinal(tx, decided.slice(0, 5))).length, 5)
    const between = await rowsRead(tx)
    assert.ok(between - before <= 10, `read ${between - before} rows to end five`)
    const deferred = decided.slice(5, 10).map(row => ({ ...row, verdict: later }))
    assert.equal((await recordDeferred(tx, deferred)).length, 5)
    const read = (await rowsRead(tx)) - between
    assert.ok(read <= 10, `read ${read} rows to defer five`)
  })
})

test('statements name their rows and read no others, also when the statistics are from when the queue was empty', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const { db } = box.app.world
  const send = async (): Promise<void> => {
    const to = Array.from({ length: 800 }, (_, n) => `user${n}@example.com`)
    await account.api.post('/v1/messages', { tenant_id: account.tenant.id, from: 'a@b.test', to, text: 'x' })
  }
  await send()
  await db.transact(system('test'), tx => tx.run(sql`delete from queue`))
  await db.transact(system('test'), tx => tx.run(sql`analyze queue`))
  await send()
  await db.transact(system('test'), async tx => {
    const readBy = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
      const before = await rowsRead(tx)
      const result = await act()
      const read = (await rowsRead(tx)) - before
      assert.ok(read <= 20, `${what} read ${read} rows for five`)
      return result
    }
    const leaseUntil = new Date(tx.now.getTime() + 30_000)
    const [holderId, leaseToken] = [crypto.randomUUID(), crypto.randomUUID()]
    const claim = () => claimDue(tx, { holderId, leaseToken, leaseUntil, limit: 5 })
    const leased = (rows: readonly QueuedRow[]) => rows.map(row => ({ ...row, lease_token: leaseToken }))
    const first = leased(await readBy('the claim', claim))
    assert.equal(await readBy('the heartbeat', () => extendLeases(tx, first, leaseUntil)), 5)
    assert.equal(await readBy('what has begun', () => updateBegun(tx, first, true)), 5)
    assert.equal((await readBy('what arrived', () => markArrived(tx, first))).length, 5)
    const ended = first.map((row): Decided => ({ ...row, verdict: VERDICT }))
    assert.equal((await readBy('the record', () => recordFinal(tx, ended))).length, 5)
    const second = leased(await claim())
    const later = second.map((row): Decided => ({
      ...row,
      verdict: { ...VERDICT, status: 'deferred', dueAt: leaseUntil },
    }))
    assert.equal((await readBy('the deferral', () => recordDeferred(tx, later))).length, 5)
    const third = leased(await claim())
    assert.equal((await readBy('the release', () => releaseLeases(tx, third))).length, 5)
    const fourth = leased(await claim())
    const throttled = fourth.map(row => ({ ...row, due_at: leaseUntil }))
    assert.equal((await readBy('the throttle', () => updateDeferrals(tx, throttled))).length, 5)
    const suspensionId = crypto.randomUUID()
    const held = fourth.map(row => ({ ...row, suspension_id: suspensionId }))
    await readBy('holding', async () => updateHeld(tx, held))
    const moved = await readBy('moving', () => updateMoved(tx, suspensionId, held))
    assert.deepEqual(moved, Array(5).fill(suspensionId))
    await readBy('cancelling', async () => recordUnsent(tx, fourth, 'cancelled'))
    const cancelled = await tx.value(sql`
      select count(*)::int from deliveries where message_id = ${fourth[0]!.message_id} and status = 'cancelled'`)
    assert.equal(cancelled, 5)
  })
})

test('what is not under our lease is left alone', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const to = ['a@example.com', 'b@example.com']
  await account.api.post('/v1/messages', { tenant_id: account.tenant.id, from: 'a@b.test', to, text: 'x' })
  const { db } = box.app.world
  const leaseToken = crypto.randomUUID()
  await db.transact(system('test'), async tx => {
    const [first] = await claimDue(tx, {
      holderId: crypto.randomUUID(),
      leaseToken,
      leaseUntil: new Date(tx.now.getTime() + 30_000),
      limit: 1,
    })
    const stranger = { ...first!, lease_token: crypto.randomUUID(), verdict: VERDICT }
    assert.deepEqual(await recordFinal(tx, [stranger]), [])
    const unclaimed = { ...first!, n: 1 - first!.n, lease_token: leaseToken, verdict: VERDICT }
    assert.deepEqual(await recordFinal(tx, [unclaimed]), [])
    assert.equal((await recordFinal(tx, [{ ...first!, lease_token: leaseToken, verdict: VERDICT }])).length, 1)
  })
})

test('the other recipients of a message that leaves through a provider are claimed with the first, as far as they are due', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const { db } = box.app.world
  const relayId = crypto.randomUUID()
  const send = async (): Promise<string> => {
    const to = ['a@one.example', 'b@two.example', 'c@three.example', 'd@four.example', 'e@five.example']
    const wanted = { tenant_id: account.tenant.id, from: 'a@b.test', to, text: 'x' }
    return (await account.api.post('/v1/messages', wanted)).body.message_id
  }
  const [first, second] = [await send(), await send()]
  const claimed = await db.transact(system('test'), async tx => {
    await tx.run(sql`update queue set relay_inbox_id = ${relayId}`)
    await tx.run(
      sql`update queue set due_at = ${new Date(tx.now.getTime() + 60_000)} where recipient = 'c@three.example'`,
    )
    await tx.run(sql`update queue set status = 'held', held_at = ${tx.now} where recipient = 'd@four.example'`)
    await tx.run(sql`update queue set status = 'deferred', due_at = ${tx.now} where recipient = 'e@five.example'`)
    const leaseUntil = new Date(tx.now.getTime() + 30_000)
    const claim = { holderId: crypto.randomUUID(), leaseToken: crypto.randomUUID(), leaseUntil, limit: 1 }
    const due = await claimDue(tx, claim)
    const siblings = await claimSiblings(tx, { ...claim, limit: 100 }, due)
    assert.deepEqual(await claimSiblings(tx, { ...claim, limit: 100 }, due), [], 'they are claimed once')
    return [...due, ...siblings]
  })
  const claimedId = claimed[0]!.message_id
  assert.ok([first, second].includes(claimedId))
  assert.ok(claimed.every(({ message_id, attempts }) => message_id === claimedId && attempts === 1))
  assert.deepEqual(claimed.map(({ recipient }) => recipient).toSorted(), [
    'a@one.example',
    'b@two.example',
    'e@five.example',
  ])
})
