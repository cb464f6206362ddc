// Statements that are asked for together travel together; where one fails, each of them is told what became of it.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { aBox, aDatabase } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { atFileEnd } from '../../../test/support/file-end.ts'
import { system } from './actor.ts'
import { ask, sendBatch } from './batch.ts'
import { isAway } from './errors.ts'
import { prepared, sql } from './sql.ts'
import { Statement } from './statement.ts'

let url: string
let client: pg.Client

const connect = async (): Promise<pg.Client> => {
  const connected = new pg.Client({ connectionString: url, pipeline: true })
  connected.on('error', () => {})
  await connected.connect()
  return connected
}

before(async () => {
  url = await aDatabase()
  client = await connect()
  atFileEnd(() => client.end())
})

beforeEach(async () => {
  await client.query('rollback; drop table if exists things; create table things (id integer primary key)')
})

let names = 0

const run = (text: string, values: unknown[] = [], { name, on = client }: { name?: string; on?: pg.Client } = {}) =>
  ask<Record<string, unknown>>(
    on as unknown as pg.PoolClient,
    new Statement(text, values, { name, isSameServer: true }),
  )

const send = (): void => sendBatch(client as unknown as pg.PoolClient)
const insert = (id: unknown) => run('insert into things values ($1) returning id', [id], { name: 'insert' })
const ids = async (): Promise<unknown[]> => (await run('select id from things order by id')).rows.map(({ id }) => id)
const codes = (results: PromiseSettledResult<unknown>[]): string[] =>
  results.map(each => (each.status === 'fulfilled' ? 'done' : (each.reason.code ?? each.reason.message)))

async function piecesOf(act: () => Promise<unknown>): Promise<number> {
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
  let pieces = 0
  const count = (): void => void pieces++
  stream.on('data', count)
  await act()
  stream.off('data', count)
  return pieces
}

test('what is asked for in one turn is answered in order, and in one piece', async () => {
  const together = (): Promise<unknown> =>
    Promise.all([
      run('begin', [], { name: 'begin' }),
      insert(1),
      insert(2),
      run('commit', [], { name: 'commit' }),
      ids(),
    ])
  assert.equal(await piecesOf(together), 1)
  assert.deepEqual(await ids(), [1, 2])
  const oneByOne = async (): Promise<void> => {
    for (const id of [3, 4, 5]) await insert(id)
  }
  assert.equal(await piecesOf(oneByOne), 3)
})

test('behind a failure nothing runs: not the commit either, until it is rolled back', async () => {
  const results = await Promise.allSettled([run('begin'), insert(1), insert(1), insert(2), run('commit')])
  assert.deepEqual(codes(results), ['done', 'done', '23505', '25P02', '25P02'])
  assert.deepEqual(codes(await Promise.allSettled([ids()])), ['25P02'])
  await run('rollback')
  assert.deepEqual(await ids(), [])
})

test('what is asked for behind a batch that was sent runs also where that fails', async () => {
  const failing = [run('begin'), run('select 1 / 0')]
  send()
  const results = await Promise.allSettled([...failing, run('rollback'), insert(7)])
  assert.deepEqual(codes(results), ['done', '22012', 'done', 'done'])
  assert.deepEqual(await ids(), [7])
})

test('a statement whose first use was skipped is prepared at its next one', async () => {
  const [fresh, known] = ['a', 'b'].map(kind => `${kind}${++names}`)
  const one = (name: string) => run('select $1::int as n', [1], { name })
  assert.deepEqual((await one(known!)).rows, [{ n: 1 }])
  const results = await Promise.allSettled([run('select 1 / 0'), one(fresh!), one(known!)])
  assert.deepEqual(codes(results), ['22012', '25P02', '25P02'])
  for (const _ of [1, 2])
    assert.deepEqual(
      (await Promise.all([one(fresh!), one(known!)])).map(({ rows }) => rows[0]!['n']),
      [1, 1],
    )
})

test('a value that cannot be written fails its statement and what is behind it, and nothing else', async () => {
  const unwritable = {
    toPostgres: () => {
      throw new Error('no text of it')
    },
  }
  const name = `unwritable${++names}`
  const select = (value: unknown) => run('select $1::text as value', [value], { name })
  const results = await Promise.allSettled([run('begin'), insert(1), select(unwritable), insert(2), run('commit')])
  assert.deepEqual(codes(results), ['done', 'done', 'no text of it', '25P02', '25P02'])
  await run('rollback')
  assert.deepEqual((await select('a')).rows, [{ value: 'a' }])
  assert.deepEqual(await ids(), [])
})

test('a statement of blanks has an answer without rows, and the others have theirs', async () => {
  const one = (n: number) => run('select $1::int as n', [n])
  const results = await Promise.all([run('-- nothing'), one(1), run(''), one(2)])
  assert.deepEqual(
    results.map(({ rows }) => rows),
    [[], [{ n: 1 }], [], [{ n: 2 }]],
  )
})

test('a value that cannot be read fails its statement alone', async () => {
  const { INTERVAL } = pg.types.builtins
  const parser = pg.types.getTypeParser(INTERVAL)
  pg.types.setTypeParser(INTERVAL, () => {
    throw new Error('not to be read')
  })
  try {
    const results = await Promise.allSettled([insert(1), run(`select interval '1 day'`), insert(2)])
    assert.deepEqual(codes(results), ['done', 'not to be read', 'done'])
  } finally {
    pg.types.setTypeParser(INTERVAL, parser)
  }
})

test('a constraint that is checked at the end fails the statement that is alone in its transaction', async () => {
  await client.query(`create table parts (thing integer references things deferrable initially deferred)`)
  await assert.rejects(run('insert into parts values (9)'), { code: '23503' })
  await client.query('drop table parts')
})

test('what a lost connection leaves without an answer fails as away', async () => {
  const lost = await connect()
  const { processID } = lost as unknown as { processID: number }
  const waiting = Promise.allSettled(
    ['begin', 'select pg_sleep(60)', 'select 2'].map(text => run(text, [], { on: lost })),
  )
  await eventually('it sleeps', async () => {
    const { rows } = await run(`select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'`, [processID])
    return rows.length === 1
  })
  await run('select pg_terminate_backend($1)', [processID])
  for (const each of (await waiting).slice(1)) assert.ok(each.status === 'rejected' && isAway(each.reason))
})

test('a transaction is run again when what it sent collided, and what came next was skipped', async t => {
  const { db } = (await aBox({ until: t })).app.world
  const by = system('test')
  await db.transact(by, async tx => {
    await tx.run(sql`create sequence tries`)
    await tx.run(sql`create function collide_once() returns integer language plpgsql as $$ begin
      if nextval('tries') = 1 then raise exception 'as if another was quicker' using errcode = '40001'; end if;
      return 1; end $$`)
  })
  for (const isTogether of [true, false]) {
    await db.transact(by, tx => tx.run(sql`alter sequence tries restart`))
    const found = await db.transact(by, async tx => {
      tx.send(sql`select collide_once()`)
      if (!isTogether) await delay(50)
      return tx.value<number>(sql`select 5`)
    })
    assert.equal(found, 5)
  }
})

test('a transaction says what failed in it, whichever of its statements is heard first', async t => {
  const { db } = (await aBox({ until: t })).app.world
  const by = system('test')
  await db.transact(by, tx => tx.run(sql`create table once (id integer primary key)`))
  await db.transact(by, tx => tx.run(sql`insert into once values (1)`))
  const again = db.transact(by, tx =>
    Promise.all([tx.value(sql`insert into once values (1) returning id`), tx.run(sql`select 2`)]),
  )
  await assert.rejects(again, { code: '23505' })
  const behind = db.transact(by, async tx => {
    const first = tx.value(sql`insert into once values (1) returning id`)
    tx.send(sql`select 2`)
    await Promise.all([tx.run(sql`select 3`), first])
  })
  await assert.rejects(behind, { code: '23505' })
  const passedOver = db.transact(by, async tx => {
    await tx.run(sql`insert into once values (2)`)
    await tx.run(sql`select 1 / 0`).catch(() => {})
  })
  await assert.rejects(passedOver, /passed over/)
  assert.equal(await db.value(sql`select count(*) from once`), 1)
})

test('a statement that another one sent before was to prepare says why it is not', async t => {
  const { db } = (await aBox({ until: t })).app.world
  let tries = 0
  const found = await db.transact(system('test'), async tx => {
    const fresh = () => prepared`select 'never asked before' as words`
    tries += 1
    if (tries === 1) {
      tx.send(sql`do $$ begin perform pg_sleep(0.1); raise exception 'slower' using errcode = '40001'; end $$`)
      tx.send(fresh())
      await delay(10)
    }
    return tx.value<string>(fresh())
  })
  assert.deepEqual([found, tries], ['never asked before', 2])
})

test('a snapshot whose last question fails unheard leaves its connection as it was', async t => {
  const { db } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app.world
  const unwritable = {
    toPostgres: () => {
      throw new Error('no text of it')
    },
  }
  for (const question of [sql`select 1 / 0`, sql`select ${unwritable}::text`]) {
    await db.atOneMoment(async reads => {
      await reads.many(sql`select 1`)
      reads.many(question).catch(() => {})
    })
    for (let n = 0; n < 3; n++)
      assert.equal(await db.value(sql`select current_setting('transaction_isolation')`), 'read committed')
  }
})

test('a recipe that fails in the moment in which it sent something that fails is rolled back, its connection kept', async t => {
  const { db } = (await aBox({ until: t })).app.world
  const connected = async (): Promise<Set<number>> => {
    const rows = await db.many<{ pid: number }>(sql`select pid from pg_stat_activity where datname = current_database()
      and application_name = 'sluice'`)
    return new Set(rows.map(({ pid }) => pid))
  }
  // More than there are connections.
  for (let n = 0; n < 10; n++) {
    const before = await connected()
    const failing = db.transact(system('test'), async tx => {
      tx.send(sql`select 1 / 0`)
      throw new Error('its own reason')
    })
    await assert.rejects(failing, { message: 'its own reason' })
    const after = await connected()
    for (const pid of before) assert.ok(after.has(pid))
  }
})
