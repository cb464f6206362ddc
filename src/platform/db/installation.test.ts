// What a process says about the database that it was given.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox, aDatabase, asSuperuser } from '../../../test/support/box.ts'

test('a database role that is superuser is warned of once; any other is not', async () => {
  const databaseUrl = await aDatabase()
  const warnings = async (url: string): Promise<string[]> => {
    const box = await aBox({ databaseUrl: url })
    await box.close()
    return box.logLines.filter(line => line.includes('superuser'))
  }

  assert.deepEqual(await warnings(databaseUrl), [])
  const [warning, ...more] = await warnings(await asSuperuser(databaseUrl))
  assert.equal(JSON.parse(warning!).level, 'warn')
  assert.deepEqual(more, [])
})
