import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { lockInboxes } from '../inboxes/lock.ts'
import { requireIdleDraft } from './save.ts'

test('a draft that is being written while it is sent keeps no other account waiting', async () => {
  const box = await theBox()
  const [account, other] = [await anAccount({ box }), await anAccount({ box })]
  const [inboxId, otherInboxId] = [await anInbox(account), await anInbox(other)]
  const written = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, { to: ['a@example.com'], text: 'x' })
  const { id } = written.body.draft
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const writing = box.app.world.db.transact(system('test'), async tx => {
    await requireIdleDraft(tx, { accountId: account.id, tenantId: null, inboxId: null }, id)
    begin()
    await end
  })
  await begun
  const sending = account.api.post(`/v1/drafts/${id}/send`)
  await delay(100)
  const began = performance.now()
  const sent = await other.api.post(`/v1/inboxes/${otherInboxId}/messages`, { to: ['b@example.com'], text: 'y' })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  assert.ok(performance.now() - began < 3_000)
  resolve()
  await writing
  assert.equal((await sending).status, 202)
})

test('under legal hold a change deletes no file that another one adds meanwhile', async () => {
  const account = await anAccount({ box: await theBox() })
  const { db } = account.box.app.world
  const inboxId = await anInbox(account)
  const { body: made } = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, { to: ['a@example.com'], text: 'x' })
  await account.api.patch('/v1/account', { legal_hold: true })
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const busy = db.transact(system('test'), async tx => {
    await lockInboxes(tx, [inboxId])
    begin()
    await end
  })
  await begun
  const change = (text: string, attachments: object[]) =>
    account.api.patch(`/v1/drafts/${made.draft.id}`, { text, attachments })
  const adding = change('x', [{ filename: 'evidence.txt', content: Buffer.from('evidence').toString('base64') }])
  await delay(200)
  const clearing = change('y', [])
  await delay(200)
  resolve()
  await busy
  assert.deepEqual([(await adding).status, (await clearing).status], [200, 409])
  const { body } = await account.api.get(`/v1/drafts/${made.draft.id}`)
  assert.equal(body.draft.attachments.length, 1)
})
