// Old attempts go, but none of an account under legal hold; and what is kept costs the others nothing.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'

const DAY_MS = 86_400_000
/** More than are looked at in a batch. */
const MANY = 2_500

/** A webhook with attempts that were all decided at this moment. */
async function addDecided(
  { app }: Box,
  { id }: TestAccount,
  { delivered, dead }: { delivered: number; dead: number },
): Promise<void> {
  const webhookId = randomUUID()
  await app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`
      insert into webhooks (id, account_id, url, event_types, status, secret, after_event_id, created_at)
      values (${webhookId}, ${id}, 'http://127.0.0.1:1/', '{}', 'disabled', '', 0, ${tx.now})`)
    await tx.run(sql`
      insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, created_at, updated_at)
      select ${webhookId}, n, 'accepted', case when n <= ${delivered} then 'delivered' else 'dead' end, 1, 1, ${tx.now},
        ${tx.now}
      from generate_series(1, ${delivered + dead}::integer) n`)
  })
}

const leftOf = async ({ app }: Box, { id }: TestAccount): Promise<number[]> => {
  const { delivered, dead } = await app.world.db.one<{ delivered: number; dead: number }>(sql`
    select count(*) filter (where a.status = 'delivered') as delivered, count(*) filter (where a.status = 'dead') as dead
    from webhook_attempts a join webhooks w on w.id = a.webhook_id where w.account_id = ${id}`)
  return [delivered, dead]
}

test('an account under legal hold keeps its attempts, however many; others do not, nor does it when the hold is lifted', async () => {
  const box = await aBox({ environment: { ROLES: 'api' } })
  const [held, other] = [await anAccount({ box }), await anAccount({ box })]
  const worker = box.app.workers.find(each => each.name === 'webhook-retention')
  assert.ok(worker?.kind === 'periodic')
  const leftAfter = async (days: number) => {
    box.clock.advance(days * DAY_MS)
    await worker.run(box.app.world, new AbortController().signal)
    return { held: await leftOf(box, held), other: await leftOf(box, other) }
  }
  await addDecided(box, held, { delivered: MANY, dead: 2 })
  box.clock.advance(1000)
  await addDecided(box, other, { delivered: 3, dead: 2 })
  await held.api.patch('/v1/account', { legal_hold: true })

  assert.deepEqual(await leftAfter(8), { held: [MANY, 2], other: [0, 2] })
  assert.deepEqual(await leftAfter(23), { held: [MANY, 2], other: [0, 0] })
  await held.api.patch('/v1/account', { legal_hold: false })
  assert.deepEqual(await leftAfter(1), { held: [0, 0], other: [0, 0] })
})
