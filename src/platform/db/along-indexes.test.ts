// Statements along indexes: planned their way, and nothing beside or after them is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { system } from './actor.ts'
import type { Db } from './database.ts'
import { prepared } from './sql.ts'

const planned = (db: Db): Promise<string> =>
  db.value<string>(prepared`
    select concat_ws(' ', current_setting('enable_seqscan'), current_setting('enable_sort'),
      current_setting('enable_hashjoin'), current_setting('enable_mergejoin'))`)

const FREELY = 'on on on on'
const ALONG = 'off off off off'

test('a statement along indexes is planned its way, and the others of its transaction are not', async t => {
  const { db } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app.world
  const by = system('test')
  await db.transact(by, async tx => {
    assert.equal(await planned(tx), FREELY)
    assert.equal(await planned(tx.alongIndexes), ALONG)
    assert.equal(await planned(tx.alongIndexes.alongIndexes), ALONG)
    assert.equal(await planned(tx), FREELY)
    // Asked in one turn, they are sent in one batch.
    const together = [tx, tx.alongIndexes, tx, tx.alongIndexes, tx.alongIndexes, tx].map(planned)
    assert.deepEqual(await Promise.all(together), [FREELY, ALONG, FREELY, ALONG, ALONG, FREELY])
    tx.alongIndexes.send(prepared`select 1`)
    assert.equal(await planned(tx), FREELY)
    assert.equal(await tx.alongIndexes.value<string>(prepared`select current_setting('jit')`), 'off')
  })
  assert.equal(await planned(db), FREELY, 'the connection is as it was')
})

test('a failure along indexes is told as what it is, and rolls its transaction back', async t => {
  const { db } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app.world
  const failing = db.transact(system('test'), async tx => {
    tx.alongIndexes.send(prepared`select 1 / (select 0)`)
    await planned(tx)
  })
  await assert.rejects(failing, /division by zero/)
  assert.equal(await planned(db), FREELY)
})
