// A repetition of a mail that was accepted is answered as the first request was, whatever happened since.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { anAccount, anInbox, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage } from '../../../test/support/mailbox.ts'

let account: TestAccount
before(async () => {
  account = await anAccount({ sandbox: true })
})

/** Sends, lets something happen, and sends the same again: the first answer, marked as a duplicate, and no second mail. */
async function assertRepeated(path: string, body: object, meanwhile: (sent: { id: string }) => Promise<unknown>) {
  const headers = { 'idempotency-key': unique('key') }
  const first = await account.api.post(path, body, headers)
  assert.equal(first.status, 202, JSON.stringify(first.body))
  await meanwhile(first.body)
  const again = await account.api.post(path, body, headers)
  assert.deepEqual([again.status, again.body], [202, { ...first.body, duplicate: true }])
  const fresh = { 'idempotency-key': unique('key') }
  return { headers, first, refused: () => account.api.post(path, body, fresh) }
}

const MAIL = { to: ['bob@example.com'], subject: 'Once', text: 'x' }
const removed = (id: string) => account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)

test('a repetition is answered 202 after the mail that was sent was deleted for good', async () => {
  const inboxId = await anInbox(account)
  await assertRepeated(`/v1/inboxes/${inboxId}/messages`, MAIL, ({ id }) => removed(id))
})

test('a repetition is answered 202 after the inbox was paused, or its recipients narrowed', async () => {
  for (const change of [{ status: 'paused' }, { policy: { allow_recipients: ['*@example.org'] } }]) {
    const inboxId = await anInbox(account)
    const path = `/v1/inboxes/${inboxId}`
    const { headers, refused } = await assertRepeated(`${path}/messages`, MAIL, () => account.api.patch(path, change))
    assert.equal((await refused()).status, 403, 'another key')
    const other = await account.api.post(`${path}/messages`, { ...MAIL, text: 'y' }, headers)
    assert.equal(other.status, 403, 'another body')
    account.box.clock.advance(86_400_001)
    const late = await account.api.post(`${path}/messages`, MAIL, headers)
    assert.equal(late.status, 403, 'a day later')
  }
})

test('a repeated reply or forward, also one that is sent later, is answered 202 after its original was deleted', async () => {
  const inboxId = await anInbox(account)
  const send_at = new Date(account.box.clock.now().getTime() + 3_600_000).toISOString()
  for (const [act, fields] of [
    ['reply', {}],
    ['forward', {}],
    ['reply', { send_at }],
  ] as const) {
    const { id } = await aFiledMessage(account.box, inboxId)
    const path = `/v1/inbox-messages/${id}/${act}`
    const { headers, refused } = await assertRepeated(path, { ...MAIL, ...fields }, () => removed(id))
    assert.equal((await refused()).status, 404)
    const of = await account.withKey({ scopes: ['send'], inbox_id: await anInbox(account) })
    assert.equal((await of.post(path, { ...MAIL, ...fields }, headers)).status, 404, 'a key of another inbox')
  }
})

test('a repetition for a disabled tenant is refused', async () => {
  const other = await anAccount({ sandbox: true, box: account.box })
  const path = `/v1/inboxes/${await anInbox(other)}/messages`
  const headers = { 'idempotency-key': unique('key') }
  assert.equal((await other.api.post(path, MAIL, headers)).status, 202)
  await other.api.patch(`/v1/tenants/${other.tenant.id}`, { status: 'disabled' })
  const again = await other.api.post(path, MAIL, headers)
  assert.deepEqual([again.status, again.body.error?.code], [403, 'tenant_disabled'])
})
