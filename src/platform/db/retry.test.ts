// What is kept and tried again while the database is away must end with the process that keeps it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { system } from './actor.ts'
import { isUnavailable } from './errors.ts'
import { retryWhileUnavailable } from './retry.ts'
import { sql } from './sql.ts'

test('what is tried again while the database is away ends when this process has closed its connections', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { db } = box.app.world
  const never = new AbortController()
  t.after(() => never.abort())
  await box.close()

  for (const act of [() => db.many(sql`select 1`), () => db.transact(system('test'), tx => tx.many(sql`select 1`))]) {
    let tries = 0
    const counted = (): Promise<unknown> => {
      tries += 1
      if (tries > 1) never.abort()
      return act()
    }
    await assert.rejects(retryWhileUnavailable(counted, never.signal), isUnavailable)
    assert.equal(tries, 1)
  }
})
