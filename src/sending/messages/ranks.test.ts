import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tx } from '../../platform/db/database.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { rowsReadOnceLong } from '../queue/rows-read.fixture.ts'
import { advanceRanks, listTenants, lockFreeTenants, lockTenants } from './queries.ts'

test('what is served next is found by its index, also by a statement that was planned while the queue was empty', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const { id } = account.tenant
  await account.api.post('/v1/messages', { tenant_id: id, from: 'a@b.test', to: ['c@d.test'], text: 'x' })
  const statements: Record<string, (tx: Tx) => Promise<unknown>> = {
    lock: tx => lockTenants(tx, [id]),
    lockFree: tx => lockFreeTenants(tx, [id]),
    list: tx => listTenants(tx, [id]),
    advance: tx => advanceRanks(tx, [{ tenantId: id, milliseconds: 1 }]),
  }
  for (const [name, run] of Object.entries(statements)) {
    const read = await rowsReadOnceLong(box.app.world.db, id, run)
    assert.ok(read <= 5, `${name} read ${read} rows of the queue`)
  }
})
