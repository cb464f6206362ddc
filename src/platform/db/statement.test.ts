// Statements as the driver runs them: what a named one answers with is described once per connection.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import pg from 'pg'
import { aDatabase } from '../../../test/support/box.ts'
import { atFileEnd } from '../../../test/support/file-end.ts'
import { ask } from './batch.ts'
import { Statement } from './statement.ts'

let client: pg.Client
let described = 0

before(async () => {
  client = new pg.Client({ connectionString: await aDatabase(), pipeline: true })
  await client.connect()
  atFileEnd(() => client.end())
  const { connection } = client as unknown as { connection: { describe(message: unknown): void } }
  const describe = connection.describe.bind(connection)
  connection.describe = message => {
    described += 1
    describe(message)
  }
  await client.query('create temporary table things (id int primary key, name text, at timestamptz)')
})

const run = (text: string, values: unknown[], name?: string, isSameServer = true) =>
  ask<Record<string, unknown>>(client as unknown as pg.PoolClient, new Statement(text, values, { name, isSameServer }))

async function descriptionsOf(act: () => Promise<unknown>): Promise<number> {
  const before = described
  await act()
  return described - before
}

test('the rows of a named statement are the same each time, and described once', async () => {
  const text = `select $1::int as n, null::text as nothing, '2026-01-02T03:04:05Z'::timestamptz as at, '\\x00ff'::bytea as bytes`
  const expected = (n: number) => [
    { n, nothing: null, at: new Date('2026-01-02T03:04:05Z'), bytes: Buffer.from([0, 255]) },
  ]
  const times = await descriptionsOf(async () => {
    for (const n of [1, 2, 3]) assert.deepEqual((await run(text, [n], 'columns')).rows, expected(n))
    const together = await Promise.all([4, 5, 6].map(n => run(text, [n], 'columns')))
    assert.deepEqual(
      together.map(({ rows }) => rows),
      [4, 5, 6].map(expected),
    )
  })
  assert.equal(times, 1)
})

test('one that answers with no rows, or with none this time, is described once', async () => {
  const times = await descriptionsOf(async () => {
    for (const n of [1, 2]) {
      const { rows, rowCount } = await run('insert into things values ($1, $2, now())', [n, 'a'], 'insert')
      assert.deepEqual([rows, rowCount], [[], 1])
    }
    for (const [id, count] of [
      [7, 0],
      [1, 1],
      [7, 0],
    ]) {
      assert.equal((await run('select name from things where id = $1', [id], 'find')).rows.length, count)
    }
  })
  assert.equal(times, 2)
})

test('a failure leaves what comes after it whole', async () => {
  const insert = (n: number) => run('insert into things values ($1) returning id', [n], 'returning')
  assert.deepEqual((await insert(20)).rows, [{ id: 20 }])
  await assert.rejects(insert(20), { code: '23505' })
  assert.deepEqual((await insert(21)).rows, [{ id: 21 }])
  await assert.rejects(run('select 1 / $1::int as share', [0], 'share'), { code: '22012' })
  assert.deepEqual((await run('select 1 / $1::int as share', [1], 'share')).rows, [{ share: 1 }])
})

test('without a name, or where another server may run it, it is described each time', async () => {
  assert.equal(await descriptionsOf(() => run('select $1::int as n', [1])), 1)
  assert.equal(await descriptionsOf(() => run('select $1::int as n', [1])), 1)
  for (const _ of [1, 2]) assert.equal(await descriptionsOf(() => run('select $1::int as m', [1], 'pooled', false)), 1)
})

test('rows keep nothing of those of an earlier run', async () => {
  const first = await run('select $1::text as text', ['a'], 'own')
  const second = await run('select $1::text as text', ['b'], 'own')
  assert.deepEqual([first.rows, second.rows], [[{ text: 'a' }], [{ text: 'b' }]])
})
