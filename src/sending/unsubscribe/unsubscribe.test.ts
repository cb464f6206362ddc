// The unsubscribe link.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeToken } from '../../mail/address/verp.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { idToBytes } from '../../platform/ids.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { personalise } from '../messages/unsubscribe-link.ts'

test('each recipient has a link of its own: GET asks, POST unsubscribes that recipient for the tenant', async () => {
  const account = await anAccount({ sandbox: true })
  const { box } = account
  const message = {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: ['one@example.com', 'two@example.com'],
    text: 'x',
    unsubscribe: true,
    // The characters that the link is written over, in a field of the caller.
    headers: { 'X-Track': `u-${'x'.repeat(32)}-${'x'.repeat(16)}` },
  }
  const { body } = await account.api.post('/v1/messages', message)
  const { source } = await box.app.world.db.one<{ source: Buffer }>(
    sql`select source from message_bodies where message_id = ${body.message_id}`,
  )
  const sourceFor = (n: number) =>
    personalise(source, box.app.world.secrets, {
      messageId: body.message_id,
      tenantId: account.tenant.id,
      recipient: message.to[n]!,
    }).toString()
  const linkOf = (text: string): string =>
    new URL(/List-Unsubscribe: +<([^>]+)>/.exec(text.replace(/\r\n /g, ' '))![1]!).pathname
  assert.match(sourceFor(0), /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
  assert.notEqual(linkOf(sourceFor(0)), linkOf(sourceFor(1)))

  const page = await box.client().get(linkOf(sourceFor(1)))
  assert.equal(page.status, 200)
  assert.match(page.body, /two@example\.com/)
  assert.equal((await account.api.get('/v1/suppressions')).body.total, 0, 'opening the link changes nothing')

  const form = { body: 'List-Unsubscribe=One-Click', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  const [done, again] = [
    await box.client().request('POST', linkOf(sourceFor(1)), form),
    await box.client().request('POST', linkOf(sourceFor(1)), form),
  ]
  assert.equal(done.status, 200)
  assert.equal(again.status, 200)
  const { body: audit } = await account.api.get('/v1/audit?action=suppression.unsubscribe')
  assert.equal(audit.entries.length, 1, 'the second time changes nothing')
  const { body: list } = await account.api.get('/v1/suppressions')
  assert.deepEqual(
    list.entries.map((entry: { address: string; reason: string; tenant_id: string }) => [
      entry.address,
      entry.reason,
      entry.tenant_id,
    ]),
    [['two@example.com', 'unsubscribe', account.tenant.id]],
  )
  assert.equal((await account.api.get('/v1/events?type=unsubscribed')).body.events.length, 1)
  assert.deepEqual((await account.api.post('/v1/messages', message)).body.suppressed, 1)
})

test('who was suppressed for another reason is unsubscribed too, and stays so when that reason is taken away', async () => {
  const account = await anAccount({ sandbox: true })
  const { box } = account
  const message = { tenant_id: account.tenant.id, from: 'a@acme.example', to: ['u@example.com'], text: 'x' }
  const { body } = await account.api.post('/v1/messages', { ...message, unsubscribe: true })
  const suppressed = { address: 'u@example.com', tenant_id: account.tenant.id, reason: 'hard_bounce' }
  await account.api.post('/v1/suppressions', suppressed)
  const key = box.app.world.secrets.keyOf('unsubscribe')
  const link = `/unsubscribe/${encodeToken({ kind: 'u', id: idToBytes(body.message_id), extra: 0 }, key)}`
  const form = { body: 'List-Unsubscribe=One-Click', headers: { 'content-type': 'application/x-www-form-urlencoded' } }

  for (let n = 0; n < 2; n++) assert.equal((await box.client().request('POST', link, form)).status, 200)

  const { body: list } = await account.api.get('/v1/suppressions')
  assert.deepEqual(
    list.entries.map((entry: { reason: string }) => entry.reason),
    ['unsubscribe'],
  )
  assert.equal((await account.api.get('/v1/events?type=unsubscribed')).body.events.length, 1)
})

test('the link works when retention has removed the message, and does not show the address', async () => {
  const account = await anAccount({ sandbox: true })
  const { box } = account
  const { secrets, db } = box.app.world
  // As long as an address may be.
  const recipient = `${'u'.repeat(64)}@${'long.'.repeat(36)}example`
  const message = {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: [recipient],
    text: 'x',
    unsubscribe: true,
  }
  const { body } = await account.api.post('/v1/messages', message)
  const source = await db.value<Buffer>(sql`select source from message_bodies where message_id = ${body.message_id}`)
  const about = { messageId: body.message_id, tenantId: account.tenant.id, recipient }
  const [, token] = /unsubscribe\/([\w-]+)>\r\n/.exec(personalise(source, secrets, about).toString())!
  await eventually('it has left the queue', async () => (await account.api.get('/v1/queue')).body.queued === 0)
  await db.transact(system('test'), async tx => {
    await tx.run(sql`delete from deliveries where message_id = ${body.message_id}`)
    await tx.run(sql`delete from messages where id = ${body.message_id}`)
  })

  assert.ok(!Buffer.from(token!, 'base64url').includes('uuuu'))
  assert.match((await box.client().get(`/unsubscribe/${token}`)).body, /long\.example/)
  assert.equal((await box.client().request('POST', `/unsubscribe/${token}`)).status, 200)
  assert.deepEqual((await account.api.post('/v1/messages', message)).body.suppressed, 1)
  const changed = `${token!.slice(0, 40)}${token![40] === 'a' ? 'b' : 'a'}${token!.slice(41)}`
  assert.equal((await box.client().get(`/unsubscribe/${changed}`)).status, 404)
})

test('a link that was changed is no link', async () => {
  const { box } = await anAccount()
  for (const token of ['nonsense', `u-${'a'.repeat(32)}-${'a'.repeat(16)}`]) {
    assert.equal((await box.client().get(`/unsubscribe/${token}`)).status, 404)
    assert.equal((await box.client().request('POST', `/unsubscribe/${token}`)).status, 404)
  }
})
