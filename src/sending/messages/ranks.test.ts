import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { rowsRead } from '../queue/rows-read.fixture.ts'
import { advanceRanks, listTenants, lockFreeTenants, lockTenants } from './queries.ts'

const fill = (tx: Tx, tenantId: string, rows: number) =>
  tx.run(sql`
    insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, accepted_at, updated_at)
    select gen_random_uuid(), 0, account_id, id, 'a@b.test', 'b.test', 'queued', ${tx.now}, ${tx.now}, ${tx.now}
    from tenants, generate_series(1, ${rows}) where id = ${tenantId}`)

test('what is served next is found by its index, also by a statement that was planned while the queue was empty', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@b.test',
    to: ['c@d.test'],
    text: 'x',
  })
  const { db } = box.app.world
  await db.transact(system('test'), tx => tx.run(sql`delete from queue`))
  await db.many(sql`vacuum queue`)
  await db.transact(system('test'), async tx => {
    const { id } = account.tenant
    const statements = {
      lock: () => lockTenants(tx, [id]),
      lockFree: () => lockFreeTenants(tx, [id]),
      list: () => listTenants(tx, [id]),
      advance: () => advanceRanks(tx, [{ tenantId: id, milliseconds: 1 }]),
    }
    // PostgreSQL keeps a plan from the sixth time on.
    for (const run of Object.values(statements)) for (let time = 0; time < 8; time++) await run()
    await fill(tx, id, 800)
    for (const [name, run] of Object.entries(statements)) {
      const before = await rowsRead(tx)
      assert.equal((await run()).length, 1)
      const read = (await rowsRead(tx)) - before
      assert.ok(read <= 5, `${name} read ${read} rows of the queue`)
    }
  })
})
