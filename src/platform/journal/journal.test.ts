// The journal: ids in commit order, tails that miss nothing, and what a transaction appends.
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'node:test'
import { aBox, theBox } from '../../../test/support/box.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { appendJournal, insertReserved, reserveIds } from './append.ts'
import { dropOldEventPartitions } from './partitions.ts'
import { system } from '../db/actor.ts'
import { sql } from '../db/sql.ts'
import type { World } from '../world.ts'
import type { Tail } from '../work/worker.ts'
import { readTailOnce } from '../work/tail.ts'

const WRITERS = 16
const ROUNDS = 40

test('a reader following 16 concurrent writers loses nothing and sees ids only grow', async t => {
  const { db } = (await aBox({ until: t })).app.world
  const accountId = randomUUID()
  let written = 0
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let round = 0; round < ROUNDS; round++) {
      const count = randomInt(1, 5)
      await db.transact(system('writer'), async tx => {
        // Transactions begin in one order and commit in another: that is what loses events without the lock.
        await tx.many(sql`select pg_sleep(${randomInt(0, 4) / 1000})`)
        for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId, data: { writer, round, n } })
      })
      written += count
    }
  })
  const done = Promise.all(writers).then(() => true)

  const seen: { id: number; data: Record<string, unknown> }[] = []
  let isDone = false
  void done.then(() => (isDone = true))
  for (;;) {
    const wasDone = isDone
    const events = await db.many<(typeof seen)[0]>(
      sql`select id, data from events where id > ${seen.at(-1)?.id ?? 0} order by id limit 50`,
    )
    seen.push(...events)
    if (events.length === 0) {
      if (wasDone) break
      await delay(1)
    }
  }

  await done
  assert.equal(seen.length, written)
  for (let index = 1; index < seen.length; index++) assert.ok(seen[index]!.id > seen[index - 1]!.id)
  assert.equal(new Set(seen.map(event => JSON.stringify(event.data))).size, written)
})

test('an entry has the action of the endpoint, whatever it says itself, and its own where no endpoint acts', async () => {
  const { db } = (await theBox()).app.world
  const target = { type: 'test', id: randomUUID() }
  for (const action of ['tenant.update', null]) {
    await db.transact({ ...system('test'), action }, async tx => {
      tx.audit({ action: 'test.write', accountId: null, target })
    })
  }
  const entries = await db.many<{ action: string }>(sql`
    select action from audit_entries where target_id = ${target.id} order by id`)
  assert.deepEqual(
    entries.map(entry => entry.action),
    ['tenant.update', 'test.write'],
  )
  const nameless = db.transact(system('test'), async tx => tx.audit({ accountId: null, target }))
  await assert.rejects(nameless, /needs an action/)
})

test('events of a held message of thousands are appended in order, and what they share is sent once', async () => {
  const { db } = (await theBox()).app.world
  const [accountId, messageId] = [randomUUID(), randomUUID()]
  const events = Array.from({ length: 2_000 }, (_, n) => {
    const recipient = `someone.${Math.floor(n / 2)}@example.com`
    const about = { accountId, messageId, recipient }
    return n % 2 === 0 ? { ...about, type: 'accepted' } : { ...about, type: 'held', data: { scope: 'account', n: 7 } }
  })

  await db.transact(system('test'), async tx => events.forEach(event => tx.record(event)))

  const rows = await db.many<{ type: string; recipient: string; data: object }>(sql`
    select type, recipient, data from events where message_id = ${messageId} and account_id = ${accountId} order by id`)
  assert.deepEqual(
    rows,
    events.map(({ type, recipient, ...event }) => ({ type, recipient, data: 'data' in event ? event.data : {} })),
  )
  const sent = JSON.stringify(
    appendJournal({ events, entries: [], by: system('test'), now: new Date() }, () => Buffer.alloc(32))!.values,
  )
  assert.deepEqual([sent.split('scope').length, sent.split('accepted').length, sent.split('held').length], [2, 2, 2])
})

test('events that say the same of everybody are appended in order, and what they say is sent once', async () => {
  const { db } = (await theBox()).app.world
  for (const [count, data] of [
    [300, { tag: 'said-once' }],
    [700, undefined],
  ] as const) {
    const [accountId, messageId] = [randomUUID(), randomUUID()]
    const events = Array.from({ length: count }, (_, n) => ({
      type: 'released',
      accountId,
      messageId: n % 2 === 0 ? messageId : null,
      recipient: n % 3 === 0 ? null : `someone.${n}@example.com`,
      data,
    }))

    await db.transact(system('test'), async tx => events.forEach(event => tx.record(event)))

    const rows = await db.many(sql`
      select type, account_id, tenant_id, message_id, recipient, data from events where account_id = ${accountId} order by id`)
    assert.deepEqual(
      rows,
      events.map(event => ({
        type: 'released',
        account_id: accountId,
        tenant_id: null,
        message_id: event.messageId,
        recipient: event.recipient,
        data: data ?? {},
      })),
    )
    const { values } = appendJournal({ events, entries: [], by: system('test'), now: new Date() }, () =>
      Buffer.alloc(32),
    )!
    const sent = JSON.stringify(values)
    assert.deepEqual([sent.split('released').length, sent.split(accountId).length], [2, 2])
  }
})

test('events that all say something else are appended as they are, however many', async () => {
  const { db } = (await theBox()).app.world
  for (const count of [300, 700]) {
    const accountId = randomUUID()
    await db.transact(system('test'), async tx => {
      for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId, data: { n } })
    })
    const rows = await db.many<{ data: { n: number } }>(sql`
      select data from events where account_id = ${accountId} order by id`)
    assert.deepEqual(
      rows.map(row => row.data.n),
      Array.from({ length: count }, (_, n) => n),
    )
  }
})

interface NotingTail {
  read(by?: World): Promise<number>
  /** The ids that it has read, in the order of reading. */
  seen(): Promise<number[]>
}

async function aTail(world: World, { batchMax = 100_000, mayFail = false } = {}): Promise<NotingTail> {
  await world.db.transact(system('setup'), tx =>
    tx.run(sql`create table read_by_tail (position serial, event_id bigint)`),
  )
  const tail: Tail = {
    kind: 'tail',
    name: 'test-tail',
    batchMax,
    read: async (_world, tx, { after, upTo }) => {
      await tx.run(sql`insert into read_by_tail (event_id)
        select id from events where id > ${after} and id <= ${upTo} order by id`)
      if (mayFail && randomInt(0, 5) === 0) throw new Error('a reader that fails now and then')
    },
  }
  return {
    read: (by = world) => readTailOnce(by, tail),
    seen: async () =>
      (await world.db.many<{ event_id: number }>(sql`select event_id from read_by_tail order by position`)).map(
        row => row.event_id,
      ),
  }
}

test('while a transaction appends many events others commit theirs, and no reader goes past what it has reserved', async t => {
  const { world } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app
  const { db } = world
  const tail = await aTail(world)
  const append = () => db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: randomUUID() }))
  await append()
  await tail.read()
  const many = Array.from({ length: 600 }, () => ({ type: 'accepted', accountId: randomUUID() }))
  for (const isUndone of [false, true]) {
    const before = (await tail.seen()).length
    const { promise: isReserved, resolve: reserved } = Promise.withResolvers<void>()
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
    const large = db.transact(system('test'), async tx => {
      const { first } = await tx.one<{ first: number }>(reserveIds(many))
      await tx.run(insertReserved(many, first, tx.now))
      reserved()
      await mayEnd
      if (isUndone) throw new Error('undone')
    })
    await isReserved
    await append()
    assert.equal(await tail.read(), 0, 'what is committed lies behind what is reserved')
    end()
    await large.catch(() => {})
    await tail.read()
    assert.equal((await tail.seen()).length, before + (isUndone ? 1 : 601))
  }
  const { locked } = await db.one<{ locked: number }>(
    sql`select count(*)::int as locked from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
      and database = (select oid from pg_database where datname = current_database())`,
  )
  assert.equal(locked, 0, 'the journal is not left locked')
})

test('a tail beside writers of few and of many events reads each once, in order', async t => {
  const { world } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app
  const tail = await aTail(world)
  let written = 0
  let isDone = false
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let round = 0; round < 12; round++) {
      const count = writer < 2 ? randomInt(500, 900) : randomInt(1, 5)
      const fails = randomInt(0, 8) === 0
      const writing = world.db.transact(system('writer'), async tx => {
        for (let n = 0; n < count; n++) {
          const inboxId = n % 100 === 99 ? randomUUID() : null
          tx.record({ type: 'accepted', accountId: randomUUID(), inboxId })
        }
        tx.audit({ action: 'test.write', accountId: null, target: { type: 'test', id: String(writer) } })
        if (fails) tx.send(sql`select 1 / 0`)
      })
      if (fails) await assert.rejects(writing, /division by zero/)
      else {
        await writing
        written += count
      }
    }
  })
  const all = Promise.all(writers).finally(() => (isDone = true))
  while (!isDone) await tail.read()
  await all
  await tail.read()
  const seen = await tail.seen()
  assert.equal(seen.length, written)
  for (let index = 1; index < seen.length; index++) assert.ok(seen[index]! > seen[index - 1]!)
})

test('several processes reading one tail handle every event once, in order', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const other = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  const accountId = randomUUID()
  const { db } = box.app.world
  const tail = await aTail(box.app.world, { batchMax: 7, mayFail: true })
  for (let batch = 0; batch < 10; batch++) {
    await db.transact(system('writer'), async tx => {
      for (let n = 0; n < 10; n++) tx.record({ type: 'accepted', accountId, data: { n } })
    })
  }

  await eventually('all are read', async () => {
    await Promise.allSettled([box, other].map(each => tail.read(each.app.world)))
    return (await tail.seen()).length >= 100
  })

  const ids = await tail.seen()
  assert.equal(ids.length, 100)
  assert.deepEqual(
    ids,
    [...new Set(ids)].toSorted((left, right) => left - right),
  )
})

test('a transaction that fails appends nothing, and one that fails at the append commits nothing', async () => {
  const { api, id } = await anAccount()
  const { db } = (await theBox()).app.world
  const count = async () =>
    (await db.one<{ count: number }>(sql`select count(*) from events where account_id = ${id}`)).count

  await assert.rejects(
    db.transact(system('test'), async tx => {
      tx.record({ type: 'accepted', accountId: id })
      throw new Error('changed my mind')
    }),
    /changed my mind/,
  )
  await assert.rejects(
    db.transact(system('test'), async tx => {
      await tx.run(sql`update accounts set name = 'half done' where id = ${id}`)
      tx.record({ type: 'accepted', accountId: 'not-a-uuid' })
    }),
    /invalid input syntax for type uuid/,
  )

  assert.equal(await count(), 0)
  assert.equal((await api.get('/v1/account')).body.name, 'Test account')
})

test('the connection of a failed transaction is clean for the next', async () => {
  const { db } = (await theBox()).app.world
  await Promise.allSettled(
    Array.from({ length: 30 }, () => db.transact(system('test'), tx => tx.run(sql`select 1 / 0`))),
  )
  const results = await Promise.all(
    Array.from({ length: 30 }, () => db.transact(system('test'), tx => tx.one<{ one: number }>(sql`select 1 as one`))),
  )
  assert.ok(results.every(row => row.one === 1))
})

test('two transactions that deadlock both succeed', async () => {
  const { db } = (await theBox()).app.world
  const [first, second] = [await anAccount({ tenants: 0 }), await anAccount({ tenants: 0 })]
  const rename = (a: string, b: string) =>
    db.transact(system('test'), async tx => {
      await tx.run(sql`update accounts set tier = 'x' where id = ${a}`)
      await delay(100)
      await tx.run(sql`update accounts set tier = 'x' where id = ${b}`)
    })

  await Promise.all([rename(first.id, second.id), rename(second.id, first.id)])
})

test('partitions of the journal are made ahead of the writers, by several processes at once', async t => {
  const box = await aBox({ until: t })
  const { db } = box.app.world
  await db.transact(system('test'), tx => tx.run(sql`select setval('events_id_seq', 23999999)`))
  await Promise.all(
    Array.from({ length: 4 }, () => db.transact(system('test'), tx => tx.run(sql`select create_event_partitions(2)`))),
  )
  await db.transact(system('test'), async tx => {
    for (let n = 0; n < 3; n++) tx.record({ type: 'accepted', accountId: randomUUID() })
  })
  const rows = await db.many<{ part: string }>(sql`select tableoid::regclass::text as part from events order by id`)
  assert.deepEqual(
    rows.map(row => row.part),
    ['events_4', 'events_4', 'events_4'],
  )
  await db.transact(system('test'), tx => tx.run(sql`select setval('events_id_seq', 29999999)`))
  await db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: randomUUID() }))
  const last = await db.one<{ part: string }>(
    sql`select tableoid::regclass::text as part from events order by id desc limit 1`,
  )
  assert.equal(last.part, 'events_6')
})

test('a process without workers makes partitions of the journal, too', async t => {
  const before = await aBox({ until: t, environment: { ROLES: 'api' } })
  await before.app.world.db.transact(system('test'), tx => tx.run(sql`select setval('events_id_seq', 14999998)`))
  await before.close()
  const { db } = (await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: before.databaseUrl })).app.world
  await eventually('the next one is there', () =>
    db.value<boolean>(sql`select to_regclass('events_3') is not null and to_regclass('events_4') is not null`),
  )
  for (let n = 0; n < 3; n++) {
    await db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: randomUUID() }))
  }
})

test('partitions of the journal that are old and empty are dropped; those with rows, and those ahead, stay', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = box.app
  const append = (): Promise<void> =>
    world.db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: randomUUID() }))
  await append()
  for (const id of [14_999_998, 54_999_998]) {
    await world.db.transact(system('test'), tx => tx.run(sql`select setval('events_id_seq', ${id})`))
    await world.db.transact(system('test'), tx => tx.run(sql`select create_event_partitions(2)`))
    await append()
  }
  await world.db.transact(system('test'), tx => tx.run(sql`delete from events where id < 5000000`))
  await dropOldEventPartitions(world)
  const parts = await world.db.many<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'events'::regclass order by length(c.relname), c.relname`)
  assert.deepEqual(
    parts.map(part => part.name),
    ['events_2', 'events_10', 'events_11', 'events_12'],
  )
})
