// The sandbox: what the local part of a recipient makes happen, end to end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'

async function send(account: TestAccount, ...to: string[]): Promise<string> {
  const { body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'hello@acme.example',
    to,
    subject: 'Hello',
    text: 'Hello.',
  })
  return body.message_id
}

const statusesOf = async (account: TestAccount, id: string): Promise<Record<string, string>> => {
  const { body } = await account.api.get(`/v1/messages/${id}`)
  return Object.fromEntries(
    body.deliveries.map((each: { recipient: string; status: string }) => [each.recipient.split('@')[0], each.status]),
  )
}

test('the local part chooses what happens', async t => {
  const account = await anAccount({ sandbox: true, box: await aBox({ until: t }) })
  const locals = ['someone', 'bounce', 'bounce-2', 'soft', 'block', 'defer', 'complain']
  const id = await send(account, ...locals.map(local => `${local}@example.com`))

  await eventually('the first attempts', async () => {
    const statuses = await statusesOf(account, id)
    return (
      statuses['complain'] === 'complained' &&
      !Object.values(statuses).some(status => ['queued', 'sending'].includes(status))
    )
  })
  assert.deepEqual(await statusesOf(account, id), {
    someone: 'delivered',
    bounce: 'bounced',
    'bounce-2': 'bounced',
    soft: 'deferred',
    block: 'blocked',
    defer: 'deferred',
    complain: 'complained',
  })

  account.box.clock.advance(70_000)
  await eventually('the second attempts', async () =>
    Object.values(await statusesOf(account, id)).every(each => !['queued', 'sending', 'deferred'].includes(each)),
  )
  const statuses = await statusesOf(account, id)
  assert.equal(statuses['soft'], 'bounced')
  assert.equal(statuses['defer'], 'delivered')
  const { body } = await account.api.get(`/v1/messages/${id}`)
  assert.deepEqual(body.counts, { delivered: 2, bounced: 3, blocked: 1, complained: 1 })
  const types = Map.groupBy(
    (await account.api.get(`/v1/events?message_id=${id}`)).body.events,
    (event: { type: string }) => event.type,
  )
  assert.deepEqual(Object.fromEntries([...types].map(([type, events]) => [type, events.length])), {
    accepted: 7,
    deferred: 2,
    delivered: 3,
    bounced: 3,
    blocked: 1,
    complained: 1,
  })
})

test('a hard bounce suppresses that recipient for the tenant, a complaint for the whole account', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const first = await send(account, 'bounce@example.com', 'complain@example.com')
  await eventually('both', async () => {
    const statuses = await statusesOf(account, first)
    return statuses['bounce'] === 'bounced' && statuses['complain'] === 'complained'
  })

  const again = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: ['Bounce@example.com', 'complain@example.com', 'fine@example.com'],
    text: 'x',
  })
  const other = await account.api.post('/v1/messages', {
    tenant_id: account.tenants[1]!.id,
    from: 'a@acme.example',
    to: ['bounce@example.com', 'complain@example.com'],
    text: 'x',
  })

  assert.deepEqual([again.body.queued, again.body.suppressed], [1, 2])
  assert.deepEqual([other.body.queued, other.body.suppressed], [1, 1])
})
