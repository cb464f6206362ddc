// Mail of the installation itself: accepted like everybody's, and a failure where it cannot be.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suppress } from '../../src/control/feedback/suppress.ts'
import { createDomain } from '../../src/identity/domains/create.ts'
import { operatorMail } from '../../src/operator-mail.ts'
import { system } from '../../src/platform/db/actor.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { Gate } from '../../src/sending/messages/gate.ts'
import { aBox } from '../support/box.ts'
import { anAccount } from '../support/factories.ts'

const senders = (db: Db) =>
  db.many<{ kind: string; name: string; sandbox: boolean }>(sql`
    select kind, name, sandbox from operator_senders s join accounts a on a.id = s.account_id order by kind`)

test('several processes make one account to send from, and a sandbox has its own', async t => {
  const { world } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app
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

test('the account that an earlier version sent from is found again', async t => {
  const { world } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app
  const mail = { to: 'a@ops.example', subject: 's', text: 't', metadata: {}, isSandbox: false }
  await operatorMail(world, new Gate(world))({ ...mail, key: 'first' })
  await world.db.transact(system('test'), async tx => {
    await tx.run(sql`delete from operator_senders`)
    // Its name is the operator's to change.
    await tx.run(sql`update accounts set name = 'Postmaster'`)
  })

  await operatorMail(world, new Gate(world))({ ...mail, key: 'second' })

  const accounts = await world.db.many(sql`select 1 from accounts`)
  assert.equal(accounts.length, 1)
})

test('after the domain of the platform has changed, alerts leave from the new one, and from the same account', async t => {
  const mail = { to: 'a@ops.example', subject: 's', text: 't', metadata: {}, isSandbox: false }
  const at = (name: string) => ({ ROLES: 'api', PLATFORM_DOMAIN: name })
  const old = await aBox({ until: t, environment: at('old.example') })
  await operatorMail(old.app.world, new Gate(old.app.world))({ ...mail, key: 'first' })
  const { world } = (await aBox({ until: t, environment: at('new.example'), databaseUrl: old.databaseUrl })).app
  // Several processes may find out at once.
  const sends = Array.from({ length: 4 }, () => operatorMail(world, new Gate(world)))

  const outcomes = await Promise.all(sends.map((send, n) => send({ ...mail, key: `second ${n}` })))

  assert.deepEqual(outcomes, ['sent', 'sent', 'sent', 'sent'])
  const messages = await world.db.many<{ from_domain: string; account_id: string }>(sql`
    select distinct d.name as from_domain, m.account_id from messages m join domains d on d.id = m.domain_id order by 1`)
  const account = messages[0]!.account_id
  assert.deepEqual(messages, [
    { from_domain: 'operator.new.example', account_id: account },
    { from_domain: 'operator.old.example', account_id: account },
  ])
})

test('tries that fail leave one account behind, which the one that succeeds uses', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = box.app
  const { id: accountId, tenant } = await anAccount({ box })
  const name = `operator.${world.config.PLATFORM_DOMAIN}`
  const reach = { accountId, tenantId: null, inboxId: null }
  await createDomain(world, system('test'), { reach, tenantId: tenant.id, name, isOwn: true })
  const mail = { to: 'a@ops.example', subject: 's', text: 't', metadata: {}, isSandbox: false, key: 'first' }
  const send = operatorMail(world, new Gate(world))

  for (let n = 0; n < 3; n++) await assert.rejects(send(mail), /taken/)

  const accounts = () => world.db.many<{ id: string }>(sql`select id from accounts where id <> ${accountId}`)
  const left = await accounts()
  assert.equal(left.length, 1)
  await world.db.transact(system('test'), tx => tx.run(sql`delete from domains where name = ${name}`))
  assert.equal(await send(mail), 'sent')
  assert.deepEqual(await accounts(), left)
})

test('an address that bounced before is not written to again, and the caller hears of it', async t => {
  const { world } = (await aBox({ until: t, environment: { ROLES: 'api' } })).app
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
