// Mail of the installation itself: accepted like everybody's, and a failure where it cannot be.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suppress } from '../../src/control/feedback/suppress.ts'
import { operatorMail } from '../../src/operator-mail.ts'
import { system } from '../../src/platform/db/actor.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { Gate } from '../../src/sending/messages/gate.ts'
import { aBox } from '../support/box.ts'

const senders = (db: Db) =>
  db.many<{ kind: string; name: string; sandbox: boolean }>(sql`
    select kind, name, sandbox from operator_senders s join accounts a on a.id = s.account_id order by kind`)

test('several processes make one account to send from, and a sandbox has its own', async () => {
  const { world } = (await aBox({ environment: { ROLES: 'api' } })).app
  const sends = Array.from({ length: 4 }, () => operatorMail(world, new Gate(world)))
  const mail = { to: 'a@ops.example', subject: 's', text: 't', metadata: {} }
  await Promise.all(
    sends.flatMap((send, n) => [
      send({ ...mail, key: `live ${n}`, isSandbox: false }),
      send({ ...mail, key: `sandbox ${n}`, isSandbox: true }),
    ]),
  )
  assert.deepEqual(await senders(world.db), [
    { kind: 'live', name: 'Operator', sandbox: false },
    { kind: 'sandbox', name: 'Operator (sandbox)', sandbox: true },
  ])
  const messages = await world.db.many<{ is_sandbox: boolean }>(sql`select is_sandbox from messages order by 1`)
  assert.deepEqual(
    messages.map(row => row.is_sandbox),
    [false, false, false, false, true, true, true, true],
  )
})

test('the account that an earlier version sent from is found again', async () => {
  const { world } = (await aBox({ environment: { ROLES: 'api' } })).app
  const mail = { to: 'a@ops.example', subject: 's', text: 't', metadata: {}, isSandbox: false }
  await operatorMail(world, new Gate(world))({ ...mail, key: 'first' })
  await world.db.transact(system('test'), tx => tx.run(sql`delete from operator_senders`))

  await operatorMail(world, new Gate(world))({ ...mail, key: 'second' })

  const accounts = await world.db.many(sql`select 1 from accounts`)
  assert.equal(accounts.length, 1)
})

test('an address that bounced before is not written to again, and whoever asks hears of it', async () => {
  const { world } = (await aBox({ environment: { ROLES: 'api' } })).app
  const send = operatorMail(world, new Gate(world))
  const mail = { to: 'gone@ops.example', subject: 's', text: 't', metadata: {}, isSandbox: false }
  assert.equal(await send({ ...mail, key: 'first' }), 'sent')
  assert.equal(await send({ ...mail, key: 'first' }), 'sent')
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
  assert.equal(await send({ ...mail, key: 'second' }), 'suppressed')
})
