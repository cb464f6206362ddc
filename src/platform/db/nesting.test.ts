// A transaction inside another one is found.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { system } from './actor.ts'
import { sql } from './sql.ts'

test('a transaction opened inside another one fails; one after it, or one that it left behind, does not', async () => {
  const { db } = (await theBox()).app.world
  const ask = () => db.transact(system('inner'), tx => tx.one(sql`select 1 as found`))
  const nested = db.transact(system('outer'), ask)
  await assert.rejects(nested, /a transaction of inner was opened inside one of outer/)

  let end = () => {}
  const ended = new Promise<void>(resolve => (end = resolve))
  let left: Promise<unknown> = Promise.resolve()
  await db.transact(system('outer'), async () => {
    left = ended.then(ask)
  })
  end()
  assert.deepEqual(await left, { found: 1 })
  assert.deepEqual(await ask(), { found: 1 })
})
