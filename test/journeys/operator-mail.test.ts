// Mail of the installation itself: accepted like everybody's, and a failure where it cannot be.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suppress } from '../../src/control/feedback/suppress.ts'
import { operatorMail } from '../../src/operator-mail.ts'
import { system } from '../../src/platform/db/actor.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { Gate } from '../../src/sending/messages/gate.ts'
import { aBox } from '../support/box.ts'

test('an address that bounced before is not written to again, and whoever asks hears of it', async () => {
  const { world } = (await aBox({ environment: { ROLES: 'api' } })).app
  const send = operatorMail(world, new Gate(world))
  const mail = { to: 'gone@ops.example', subject: 's', text: 't' }
  await send({ ...mail, key: 'first' })
  await send({ ...mail, key: 'first' })
  const [message, ...more] = await world.db.many<{ account_id: string; tenant_id: string }>(
    sql`select account_id, tenant_id from messages`,
  )
  assert.deepEqual(more, [], 'asked for twice, sent once')
  await world.db.transact(system('test'), async tx => {
    const { account_id: accountId, tenant_id: tenantId } = message!
    await suppress(tx, [
      { accountId, tenantId, address: mail.to, reason: 'hard_bounce', detail: null, messageId: null },
    ])
  })
  await assert.rejects(send({ ...mail, key: 'second' }), /bounced or complained before/)
})
