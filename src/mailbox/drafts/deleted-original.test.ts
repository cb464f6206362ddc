// A draft that answers or forwards a message which is deleted before the draft is sent.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { mergeThreads } from '../threads/join-queries.ts'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'

let account: TestAccount
before(async () => {
  account = await anAccount({ box: await theBox() })
})

const HOUR_MS = 3_600_000
const removed = (id: string) => account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)

/** A draft that answers mail which is then deleted, in a thread with another message unless told otherwise. */
async function aReply({ fields = {}, tainted = false, alone = false } = {}) {
  const inboxId = await anInbox(account)
  const { id, threadId } = await aFiledMessage(account.box, inboxId, { subject: 'Question', tainted })
  const last = alone ? null : await aFiledMessage(account.box, inboxId, { threadId })
  const body = { reply_to_id: id, to: ['ann@example.com'], text: 'An answer.', ...fields }
  const { body: made } = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, body)
  assert.ok(made.draft, JSON.stringify(made))
  await removed(id)
  return { inboxId, threadId, lastId: last?.id, send: () => account.api.post(`/v1/drafts/${made.draft.id}/send`) }
}

test('a reply draft is sent after its original was deleted, in the thread where that is left', async () => {
  const { threadId, send } = await aReply()
  const sent = await send()
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  assert.equal(sent.body.thread_id, threadId)
  const { body } = await account.api.get(`/v1/inbox-messages/${sent.body.id}`)
  assert.deepEqual([body.to, body.subject, body.in_reply_to], [['ann@example.com'], 'Re: Question', null])
  const alone = await aReply({ alone: true })
  const other = await alone.send()
  assert.equal(other.status, 202, JSON.stringify(other.body))
  assert.notEqual(other.body.thread_id, alone.threadId)
  await assertMailboxCounts(account.box.app.world.db)
})

test('a scheduled reply is sent in its time after its original was deleted', async () => {
  const inboxId = await anInbox(account)
  const { id, threadId } = await aFiledMessage(account.box, inboxId)
  await aFiledMessage(account.box, inboxId, { threadId })
  const send_at = new Date(account.box.clock.now().getTime() + HOUR_MS).toISOString()
  const { body } = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'Later.', send_at })
  assert.equal(body.status, 'scheduled', JSON.stringify(body))
  await removed(id)
  account.box.clock.advance(HOUR_MS + 1)
  const sent = await eventually('it is sent', async () => {
    const { messages } = (await account.api.get(`/v1/inboxes/${inboxId}/messages?folder=sent`)).body
    return messages.length === 1 && messages[0]
  })
  assert.deepEqual([sent.to, sent.thread_id], [['Ann <ann@example.com>'], threadId])
})

const askAboutTaint = async (inboxId: string): Promise<void> => {
  const policy = { require_approval_on_taint: true }
  assert.equal((await account.api.patch(`/v1/inboxes/${inboxId}`, { policy })).status, 200)
}

test('such a reply waits for an approval where its thread is tainted, or was when it went with its last message', async () => {
  for (const alone of [false, true]) {
    const { inboxId, send } = await aReply({ tainted: true, alone, fields: { subject: 'Something else' } })
    await askAboutTaint(inboxId)
    const sent = await send()
    assert.deepEqual([sent.status, sent.body.status], [202, 'held'], JSON.stringify(sent.body))
  }
  const trusted = await aReply({ alone: true })
  await askAboutTaint(trusted.inboxId)
  assert.equal((await trusted.send()).body.approval_id, null)
})

test('such a reply waits also where its thread goes while it is sent', async t => {
  const { inboxId, lastId, send } = await aReply({ tainted: true, fields: { subject: 'Something else' } })
  await askAboutTaint(inboxId)
  const { db } = account.box.app.world
  const many = db.many.bind(db)
  let isGone = false
  t.mock.method(db, 'many', async (query: Parameters<typeof many>[0]) => {
    // Right before the look at the thread.
    if (!isGone && JSON.stringify(query).includes('as asked_id')) {
      isGone = true
      await removed(lastId!)
    }
    return many(query)
  })
  const sent = await send()
  assert.ok(isGone)
  assert.deepEqual([sent.status, sent.body.status], [202, 'held'], JSON.stringify(sent.body))
})

test('such a reply waits also where its thread had become part of the one that was tainted', async () => {
  const inboxId = await anInbox(account)
  await askAboutTaint(inboxId)
  const { db } = account.box.app.world
  const { id, threadId } = await aFiledMessage(account.box, inboxId)
  const { threadId: into } = await aFiledMessage(account.box, inboxId, { tainted: true })
  const body = { reply_to_id: id, to: ['ann@example.com'], subject: 'Something else', text: 'An answer.' }
  const { body: made } = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, body)
  await db.transact(system('test'), tx => mergeThreads(tx, [{ from: threadId, into }]))
  const { messages } = (await account.api.get(`/v1/inboxes/${inboxId}/messages`)).body
  for (const message of messages) await removed(message.id)
  assert.equal((await account.api.get(`/v1/threads/${into}`)).status, 404)
  const sent = await account.api.post(`/v1/drafts/${made.draft.id}/send`)
  assert.deepEqual([sent.status, sent.body.status], [202, 'held'], JSON.stringify(sent.body))
})

test('without the original a reply to nobody, a quotation and a forward are refused, and say why', async () => {
  for (const fields of [{ to: [] }, { text: undefined }]) {
    const { status, body } = await (await aReply({ fields })).send()
    assert.deepEqual([status, body.error?.code], [422, 'invalid_message'], JSON.stringify(body))
    assert.match(body.error.message, /answers was deleted/)
  }
  const inboxId = await anInbox(account)
  const { id } = await aFiledMessage(account.box, inboxId)
  const send_at = new Date(account.box.clock.now().getTime() + HOUR_MS).toISOString()
  const { body } = await account.api.post(`/v1/inbox-messages/${id}/forward`, { to: ['u@example.com'], send_at })
  await removed(id)
  const refused = await account.api.post(`/v1/drafts/${body.id}/send`)
  assert.deepEqual([refused.status, refused.body.error?.code], [422, 'invalid_message'])
  assert.match(refused.body.error.message, /forwards was deleted/)
})
