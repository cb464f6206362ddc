import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
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
