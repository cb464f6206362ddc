// What asks whether something is queued: how much of the queue it reads.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBeingParked } from '../../control/suspensions/progress.ts'
import { listStatuses } from '../../mailbox/compose/statuses/queries.ts'
import type { Tx } from '../../platform/db/database.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { queuedAmong } from './queued.ts'
import { rowsReadOnceLong } from './rows-read.fixture.ts'

test('asking what is queued reads nothing else, also by a statement that was planned while the queue was empty', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const tenantId = account.tenant.id
  const sent = await account.api.post('/v1/messages', {
    tenant_id: tenantId,
    from: 'a@b.test',
    to: ['c@d.test'],
    text: 'x',
  })
  const id: string = sent.body.message_id
  // So many that PostgreSQL keeps the plan that it has.
  const ids = [id, ...Array.from({ length: 24 }, () => crypto.randomUUID())]
  const submissions = ids.map(each => ({ message_id: each, account_id: account.id, tenant_id: tenantId }))
  const pause = await account.api.post('/v1/suspensions', { scope_type: 'tenant', scope_value: tenantId })
  const statements: Record<string, (tx: Tx) => Promise<unknown>> = {
    among: tx => queuedAmong(tx, ids),
    statuses: tx => listStatuses(tx, submissions),
    parked: tx => isBeingParked(tx, { id: pause.body.id, accountId: crypto.randomUUID() }),
  }
  for (const [name, run] of Object.entries(statements)) {
    const read = await rowsReadOnceLong(box.app.world.db, tenantId, run)
    assert.ok(read <= 5, `${name} read ${read} rows of the queue`)
  }
})
