// The source of composed mail is stored once, for the mailbox and for delivery, and stays until it has left.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aSink, type TestSink } from '../../../test/support/sink.ts'
import { removeSources } from './removals.ts'
import { storeTextsAhead } from './store.ts'

let sink: TestSink
let box: Box
let account: TestAccount
let inboxId: string
before(async () => {
  sink = await aSink()
  box = await aBox({ environment: { SMTP_ROUTES: `*=127.0.0.1:${sink.port}` } })
  account = await anAccount({ box })
  inboxId = await anInbox(account)
})
after(() => sink.close())

const compose = async (text: string) => {
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, {
    to: ['bob@example.com'],
    subject: 'x',
    text,
  })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  return sent.body as { id: string; message_id: string; status: string }
}

const storedOf = (messageId: string) =>
  box.app.world.db.one<{ sources: number; texts: number; bodies: number }>(sql`
    select (select count(*)::int from mail_sources where id = ${messageId}) as sources,
      (select count(*)::int from source_texts where source_id = ${messageId}) as texts,
      (select count(*)::int from message_bodies where message_id = ${messageId}) as bodies`)

const received = (text: string) =>
  eventually('it has arrived', () => sink.received.find(mail => mail.source.includes(text)))

for (const [size, text] of [
  ['small', 'A line of a small mail.'],
  ['too large for a claim', `A line of a large mail.${'\r\nAnd another line of it.'.repeat(4_000)}`],
] as const) {
  test(`composed mail that is ${size} is stored once, and leaves`, async () => {
    const { message_id: id } = await compose(text)
    assert.deepEqual(await storedOf(id), { sources: 1, texts: 1, bodies: 0 })
    const mail = await received(text.slice(0, 20))
    assert.ok(mail!.source.includes('DKIM-Signature'), mail!.source.slice(0, 500))
    assert.equal(
      mail!.source.split('\r\n').filter(line => line.startsWith('And another')).length,
      text.split('\r\n').length - 1,
    )
  })
}

test('the source of mail that is held outlives its message in the mailbox, and goes when the mail has left', async () => {
  await account.api.post(`/v1/tenants/${account.tenant.id}/pause`, { queue_action: 'hold' })
  const { id, message_id: messageId, status } = await compose('A line that was deleted before it was sent.')
  assert.equal(status, 'held')
  const removed = await account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)
  assert.equal(removed.status, 200, JSON.stringify(removed.body))
  const due = sql`select due_at > ${box.app.world.clock.now()} as waits from source_removals where source_id = ${messageId}`
  await eventually(
    'it was looked at',
    async () => (await box.app.world.db.maybe<{ waits: boolean }>(due))?.waits === true,
  )
  assert.deepEqual(await storedOf(messageId), { sources: 1, texts: 1, bodies: 0 })
  await account.api.post(`/v1/tenants/${account.tenant.id}/resume`)
  await received('deleted before it was sent')
  const isLeft = async (): Promise<boolean> =>
    (await account.api.get(`/v1/messages/${messageId}`)).body.counts.delivered === 1
  await eventually('its delivery is recorded', isLeft)
  box.clock.advance(3_600_001)
  await removeSources(box.app.world)
  assert.deepEqual(await storedOf(messageId), { sources: 0, texts: 0, bodies: 0 })
})

test('texts that are stored while their source is being removed go with it, and behind it none are stored', async () => {
  const { id, message_id: messageId } = await compose('A line whose texts are written late.')
  await received('texts are written late')
  const { db } = box.app.world
  const text = { authenticationResults: '', text: 'x', html: null, htmlText: null, extractedText: 'x', notes: [] }
  const texts = { sourceId: messageId, accountId: account.id, ...text, attachments: [] }
  await db.transact(system('test'), async tx => {
    await tx.run(sql`delete from source_texts where source_id = ${messageId}`)
    await tx.run(sql`select from mail_sources where id = ${messageId} for key share`)
    await eventually('it is delivered', async () => {
      const { counts } = (await account.api.get(`/v1/messages/${messageId}`)).body
      return counts.delivered === 1
    })
    assert.equal((await account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)).status, 200)
    await eventually('its removal waits', () =>
      db.maybe(
        sql`select 1 as waits from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      ),
    )
    await storeTextsAhead(tx, texts)
  })
  await eventually('it is removed', async () => (await storedOf(messageId)).sources === 0)
  assert.deepEqual(await storedOf(messageId), { sources: 0, texts: 0, bodies: 0 })
  await db.transact(system('test'), tx => storeTextsAhead(tx, texts))
  assert.deepEqual(await storedOf(messageId), { sources: 0, texts: 0, bodies: 0 })
})
