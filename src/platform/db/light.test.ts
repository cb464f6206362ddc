// Light transactions: they wait for no disk, unless readers see what they append.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { system } from './actor.ts'
import type { Tx } from './database.ts'
import { sql } from './sql.ts'

const by = system('test')

test('a transaction that appends to the journal is on disk before anybody reads it, also a light one', async t => {
  const box = await aBox({ until: t })
  const { id: accountId } = await anAccount({ box })
  const { db } = box.app.world
  await db.transact(by, async tx => {
    await tx.run(sql`create table commits (appended integer, setting text)`)
    await tx.run(sql`
      create function note_commit() returns trigger language plpgsql as $$
      begin insert into commits select count(*), current_setting('synchronous_commit') from added; return null; end $$`)
    await tx.run(sql`
      create trigger note_commit after insert on events referencing new table as added
      for each statement execute function note_commit()`)
  })
  const append = (count: number) => async (tx: Tx) => {
    for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId, tenantId: null, data: {} })
    return (await tx.one<{ setting: string }>(sql`select current_setting('synchronous_commit') as setting`)).setting
  }

  // The second is inserted before its commit, as it is too long to be appended under the lock.
  assert.deepEqual([await db.transactLightly(by, append(2)), await db.transactLightly(by, append(600))], ['off', 'off'])

  const commits = await db.many(sql`select appended, setting from commits where appended > 0 order by appended`)
  assert.deepEqual(commits, [
    { appended: 2, setting: 'on' },
    { appended: 600, setting: 'on' },
  ])
})
