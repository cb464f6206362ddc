// Replay of an endpoint that has more dead attempts than a transaction takes.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import type { World } from '../../platform/world.ts'
import { replay } from './replay.ts'

const ATTEMPTS = 5_000
const by = { ...system('test'), action: 'webhook.replay' }

let box: Box
let account: TestAccount
before(async () => {
  // Without the workers: what is queued stays as it is.
  box = await aBox({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  account = await anAccount({ box })
})

/** With attempts that failed and died in turn. */
async function aFailedWebhook() {
  const { body } = await account.api.post('/v1/webhooks', { url: 'http://127.0.0.1:1/' })
  await box.app.world.db.transact(by, tx =>
    tx.run(sql`
      insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, due_at, created_at,
        updated_at)
      select ${body.id}::uuid, n, 'accepted', case n % 2 when 0 then 'dead' else 'failed' end, 8, 8,
        case n % 2 when 0 then null else ${tx.now}::timestamptz + interval '1 day' end,
        ${tx.now}::timestamptz + n * interval '1 millisecond', ${tx.now}
      from generate_series(1, ${ATTEMPTS}::integer) n`),
  )
  const reach = { accountId: account.id, tenantId: null, inboxId: null }
  return { id: body.id as string, named: { reach, id: body.id as string }, path: `/v1/webhooks/${body.id}/replay` }
}

const countsOf = async (id: string) => {
  const rows = await box.app.world.db.many<{ status: string; count: number }>(
    sql`select status, count(*) as count from webhook_attempts where webhook_id = ${id} group by status order by status`,
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

const auditedOf = (id: string) =>
  box.app.world.db.one<{ entries: number; requeued: number; most: number }>(sql`
    select count(*) as entries, sum((after ->> 'requeued')::integer) as requeued,
      max((after ->> 'requeued')::integer) as most
    from audit_entries where action = 'webhook.replay' and target_id = ${id}`)

/** A world in which something happens before each transaction. */
function meeting(happens: (nth: number) => Promise<void>): World {
  const { world } = box.app
  const db = Object.create(world.db) as typeof world.db
  let nth = 0
  db.transact = async (actor, recipe) => {
    await happens(++nth)
    return world.db.transact(actor, recipe)
  }
  return { ...world, db }
}

test('a replay answers all that it queued, in transactions of a bounded size with an audit entry each', async () => {
  const { id, path } = await aFailedWebhook()

  assert.deepEqual((await account.api.post(path)).body, { requeued: ATTEMPTS })

  assert.deepEqual(await countsOf(id), { pending: ATTEMPTS })
  const { entries, requeued, most } = await auditedOf(id)
  assert.deepEqual([entries, requeued], [3, ATTEMPTS])
  assert.ok(most <= 2_000, `${most} attempts in one transaction`)
  assert.deepEqual((await account.api.post(path)).body, { requeued: 0 })
})

test('a replay finds its attempts by their ids, also where statistics say that hardly any has failed', async () => {
  const quiet = await aFailedWebhook()
  await account.api.post(quiet.path)
  await box.app.world.db.transact(by, tx => tx.run(sql`analyze webhook_attempts`))
  const { path } = await aFailedWebhook()
  const began = performance.now()
  assert.deepEqual((await account.api.post(path)).body, { requeued: ATTEMPTS })
  assert.ok(performance.now() - began < 4_000, `${performance.now() - began} ms`)
})

test('what a replay queued before it died stays queued, and the next one goes on', async () => {
  const { id, named, path } = await aFailedWebhook()
  const dies = meeting(async nth => {
    if (nth === 3) throw new Error('the process died')
  })

  await assert.rejects(replay(dies, by, named, null), /the process died/)

  assert.equal((await countsOf(id))['pending'], 4_000)
  assert.deepEqual((await account.api.post(path)).body, { requeued: ATTEMPTS - 4_000 })
  assert.deepEqual(await countsOf(id), { pending: ATTEMPTS })
})

test('two replays at once queue each attempt once', async () => {
  const { id, path } = await aFailedWebhook()

  const answers = await Promise.all([account.api.post(path), account.api.post(path)])

  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  )
  assert.equal(answers[0].body.requeued + answers[1].body.requeued, ATTEMPTS)
  assert.deepEqual(await countsOf(id), { pending: ATTEMPTS })
})

test('what fails again while the replay goes on, and what fails for the first time, is not queued by it', async () => {
  const { id, named } = await aFailedWebhook()
  const failing = meeting(async nth => {
    if (nth === 1) return
    await box.app.world.db.transact(by, tx =>
      tx.run(sql`
        with again as (
          update webhook_attempts set status = 'failed' where webhook_id = ${id} and status = 'pending')
        insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, due_at, created_at,
          updated_at)
        select ${id}::uuid, ${nth}::bigint * 10000 + n, 'accepted', 'failed', 1, 1, ${tx.now}, ${tx.now}, ${tx.now}
        from generate_series(1, 3000) n`),
    )
  })

  assert.equal(await replay(failing, by, named, null), ATTEMPTS)
})

test('attempts before the time given are passed over in slices, and left as they are', async () => {
  const { id, path } = await aFailedWebhook()
  const { created_at } = await box.app.world.db.one<{ created_at: Date }>(
    sql`select created_at from webhook_attempts where webhook_id = ${id} and event_id = ${ATTEMPTS - 499}`,
  )

  const replayed = await account.api.post(`${path}?since=${encodeURIComponent(created_at.toISOString())}`)

  assert.deepEqual(replayed.body, { requeued: 500 })
  assert.equal((await auditedOf(id)).entries, 1)
  assert.equal((await countsOf(id))['pending'], 500)
})
