// The roll-up counts the journal exactly once, whichever process dies and however many read; old roll-ups leave.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import type { Tail } from '../../platform/work/worker.ts'
import { readTailOnce } from '../../platform/work/tail.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { counted, happen, send } from './counted.fixture.ts'
import type { Counters } from './counters.ts'
import { forgetOldMetrics, metricsTail } from './workers.ts'

const still = (): Promise<Box> => aBox({ environment: { ROLES: 'api' } })

interface Counted extends Counters {
  scope_type: string
  scope_value: string
}

const sums = sql`sum(recipients)::int as recipients, sum(delivered)::int as delivered,
  sum(hard_bounces)::int as hard_bounces, sum(soft_bounces)::int as soft_bounces, sum(blocks)::int as blocks,
  sum(deferrals)::int as deferrals, sum(complaints)::int as complaints, sum(auth_failures)::int as auth_failures`

/** All scopes of the account in the minutes, in the hours, and as a plain count over the journal says. */
async function books({ box, id }: TestAccount): Promise<Record<'minutes' | 'hours' | 'journal', Counted[]>> {
  const { db } = box.app.world
  const [minutes, hours, journal] = await Promise.all([
    db.many<Counted>(sql`select scope_type, scope_value, ${sums} from metric_minutes where account_id = ${id}
      group by 1, 2 order by 1, 2`),
    db.many<Counted>(sql`select scope_type, scope_value, ${sums} from metric_hours where account_id = ${id}
      group by 1, 2 order by 1, 2`),
    db.many<Counted>(sql`
      with e as (
        select e.*, m.sender, m.sender_domain, coalesce(m.api_key_id::text, e.data ->> 'api_key_id') as api_key
        from events e left join messages m on m.id = e.message_id where e.account_id = ${id}),
      s as (
        select 'account' as scope_type, account_id::text as scope_value, type, data from e
        union all select 'tenant', tenant_id::text, type, data from e where tenant_id is not null
        union all select 'domain', sender_domain, type, data from e where sender_domain is not null
        union all select 'sender', sender, type, data from e where sender is not null
        union all select 'api_key', api_key, type, data from e where api_key is not null)
      select scope_type, scope_value, sum((type = 'accepted')::int)::int as recipients,
        sum((type = 'delivered')::int)::int as delivered,
        sum((type = 'bounced' and data ->> 'bounce_type' = 'hard')::int)::int as hard_bounces,
        sum((type = 'bounced' and data ->> 'bounce_type' = 'soft')::int)::int as soft_bounces,
        sum((type = 'blocked')::int)::int as blocks, sum((type = 'deferred')::int)::int as deferrals,
        sum((type = 'complained')::int)::int as complaints, 
        sum(case type when 'auth_failed' then coalesce((data ->> 'count')::int, 1) else 0 end)::int as auth_failures
      from s where type in ('accepted', 'delivered', 'bounced', 'blocked', 'deferred', 'complained', 'auth_failed')
      group by 1, 2 order by 1, 2`),
  ])
  return { minutes, hours, journal }
}

function assertBalanced({ minutes, hours, journal }: Awaited<ReturnType<typeof books>>): void {
  assert.ok(journal.length > 0)
  assert.deepEqual(minutes, journal)
  assert.deepEqual(hours, journal)
}

const TYPES = [
  'delivered',
  'bounced',
  'blocked',
  'deferred',
  'complained',
  'expired',
  'held',
  'suppressed',
  'auth_failed',
]

/** Anything may happen to a message, or to none. */
async function anything(account: TestAccount, messages: readonly string[]): Promise<void> {
  const type = TYPES[randomInt(TYPES.length)]!
  const messageId = messages[randomInt(messages.length)]!
  const tenantId = account.tenants[randomInt(account.tenants.length)]!.id
  if (type === 'auth_failed')
    return happen(account, {
      type,
      tenantId,
      data: { ip: '192.0.2.1', ...(randomInt(2) === 0 && { count: randomInt(2, 1_000) }) },
      times: randomInt(1, 4),
    })
  const data = type === 'bounced' ? { bounce_type: randomInt(2) === 0 ? 'hard' : 'soft' } : {}
  await happen(account, { type, tenantId, messageId, data, times: randomInt(1, 9) })
}

test('a reader that dies midway, or whose connection does, has counted nothing; the next counts all of it once', async () => {
  const box = await still()
  const account = await anAccount({ sandbox: true, tenants: 2, box })
  const messages = await Promise.all([1, 2, 3].map(n => send(account, { from: `a${n}@d${n}.example` })))
  for (let n = 0; n < 20; n++) await anything(account, messages)
  const { world } = box.app
  const dying = (death: Tail['read']): Tail => ({
    ...metricsTail,
    read: async (...given) => {
      await metricsTail.read(...given)
      await death(...given)
    },
  })

  const thrown = dying(async () => {
    throw new Error('died before the commit')
  })
  const killed = dying(async (_world, tx) => void (await tx.many(sql`select pg_terminate_backend(pg_backend_pid())`)))
  await assert.rejects(readTailOnce(world, thrown), /died before the commit/)
  assert.deepEqual((await books(account)).minutes, [])
  await assert.rejects(readTailOnce(world, killed))
  assert.deepEqual((await books(account)).hours, [])

  await counted(box)
  assertBalanced(await books(account))
})

test('two processes that count while others write miss nothing and double nothing', async t => {
  const box = await still()
  const other = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  const account = await anAccount({ sandbox: true, tenants: 3, box })
  const messages = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      send(account, { tenantId: account.tenants[n % 3]!.id, from: `a${n}@d${n % 4}.example` }),
    ),
  )
  const small: Tail = {
    ...metricsTail,
    batchMax: 37,
    read: async (...given) => {
      await metricsTail.read(...given)
      if (randomInt(0, 6) === 0) throw new Error('a reader that fails now and then')
    },
  }
  let isOver = false
  const writers = Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let n = 0; n < 60; n++) await anything(account, messages)
    }),
  ).then(() => (isOver = true))
  const readers = [box, other].map(async ({ app }) => {
    while (!isOver) await readTailOnce(app.world, small).catch(() => {})
  })
  await Promise.all([writers, ...readers])
  await counted(box)

  assertBalanced(await books(account))
})

test('the worker counts by itself, and notes which scopes it touched and when', async t => {
  const box = await aBox({ until: t })
  const account = await anAccount({ box })
  await happen(account, { type: 'auth_failed', tenantId: account.tenant.id, data: {} })
  const { db } = box.app.world
  const touched = () =>
    db.many<{ scope_type: string; counted_at: Date }>(
      sql`select scope_type, counted_at from metric_activity where account_id = ${account.id} order by 1`,
    )
  const first = await eventually('it is counted', async () => {
    const rows = await touched()
    return rows.length > 0 && rows
  })
  const countAgain = async (total: number, afterMs: number) => {
    box.clock.advance(afterMs)
    await happen(account, { type: 'auth_failed', data: {} })
    await eventually('it is counted again', async () => {
      const { minutes } = await books(account)
      const own = minutes.filter(each => each.scope_type === 'account')
      return own.reduce((sum, each) => sum + each.auth_failures, 0) === total
    })
  }
  await countAgain(2, 5_000)
  assert.deepEqual(await touched(), first, 'it was noted a few seconds ago')
  await countAgain(3, 20_000)

  const second = await touched()
  assert.deepEqual(
    second.map(each => each.scope_type),
    ['account', 'tenant'],
  )
  assert.ok(second[0]!.counted_at.getTime() >= first[0]!.counted_at.getTime() + 25_000)
  assert.deepEqual(second[1], first[1])
  assert.match((await box.client().get('/metrics')).body, /sluice_tail_lag_events\{tail="metrics"\} 0/)
})

test('while events keep coming the worker lets them gather, and counts about once a second', async t => {
  const box = await aBox({ until: t })
  const account = await anAccount({ box })
  const rounds = async (): Promise<number> =>
    Number(
      /sluice_worker_rounds_total\{worker="metrics"\} (\d+)/.exec((await box.client().get('/metrics')).body)?.[1] ?? 0,
    )
  await eventually('the first round', rounds)
  const [first, began] = [await rounds(), performance.now()]
  for (let n = 0; n < 150; n++) await happen(account, { type: 'accepted', tenantId: account.tenant.id })
  const [made, seconds] = [(await rounds()) - first, (performance.now() - began) / 1000]

  // A round at once, one that finds nothing, and one a second.
  assert.ok(made <= 3 + seconds, `${made} rounds in ${seconds} s`)
  await eventually('all are counted', async () => {
    const { minutes } = await books(account)
    return minutes.find(each => each.scope_type === 'tenant')?.recipients === 150
  })
})

test('events about a message that is gone count for its account and tenant', async () => {
  const box = await still()
  const account = await anAccount({ box })
  const gone = { type: 'complained', tenantId: account.tenant.id, messageId: crypto.randomUUID() }
  await happen(account, gone)
  await counted(box)
  assert.deepEqual(
    (await books(account)).minutes.map(({ scope_type, complaints }) => [scope_type, complaints]),
    [
      ['account', 1],
      ['tenant', 1],
    ],
  )
})

test('activity is kept for 8 days, minutes for 32 and hours for 400, and an account under legal hold keeps all', async () => {
  const box = await still()
  box.clock.set(new Date('2026-01-01T12:00:00Z'))
  const [account, held] = [await anAccount({ box }), await anAccount({ box })]
  await held.api.patch('/v1/account', { legal_hold: true })
  const kept = async (days: number) => {
    box.clock.set(new Date(Date.parse('2026-01-01T12:00:00Z') + days * 86_400_000))
    await forgetOldMetrics(box.app.world, new AbortController().signal)
    const count = (table: 'minutes' | 'hours' | 'activity', { id }: TestAccount) =>
      box.app.world.db
        .one<{ count: number }>(
          {
            minutes: sql`select count(*) from metric_minutes where account_id = ${id}`,
            hours: sql`select count(*) from metric_hours where account_id = ${id}`,
            activity: sql`select count(*) from metric_activity where account_id = ${id}`,
          }[table],
        )
        .then(row => row.count)
    const all = (of: TestAccount) => Promise.all([count('minutes', of), count('hours', of), count('activity', of)])
    return { account: await all(account), held: await all(held) }
  }
  const shown = async ({ api }: TestAccount) => {
    const { body } = await api.get('/v1/metrics?from=2026-01-01T11:00:00Z&to=2026-01-01T12:15:00Z')
    const intervals: { start: string; recipients: number }[] = body.intervals
    return intervals.filter(({ recipients }) => recipients !== 0).map(({ start }) => start.slice(11, 16))
  }
  box.clock.set(new Date('2026-01-01T12:10:00Z'))
  for (const each of [account, held]) await happen(each, { type: 'accepted', tenantId: each.tenant.id })
  await counted(box)

  assert.deepEqual(await kept(7), { account: [2, 2, 2], held: [2, 2, 2] })
  assert.deepEqual(await kept(31), { account: [2, 2, 0], held: [2, 2, 2] })
  assert.deepEqual([await shown(account), await shown(held)], [['12:10'], ['12:10']])
  assert.deepEqual(await kept(33), { account: [0, 2, 0], held: [2, 2, 2] })
  assert.deepEqual([await shown(account), await shown(held)], [['12:00'], ['12:10']], 'an hour stands for its minutes')
  assert.deepEqual(await kept(401), { account: [0, 0, 0], held: [2, 2, 2] })
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update accounts set legal_hold = false where id = ${held.id}`),
  )
  assert.deepEqual((await kept(402)).held, [0, 0, 0])
})
