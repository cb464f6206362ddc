// Names of people in composed mail: encoded in its headers, and readable everywhere else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'
import { aFiledMessage } from '../../../test/support/mailbox.ts'

const NAME = 'Zoë Größe'
const TO = 'Jörg Müller <jm@example.com>'

test('names beyond ASCII are shown, quoted, told and found as they are read', async () => {
  const account = await anAccount({ sandbox: true })
  const inboxId = await anInbox(account)
  const { body: inbox } = await account.api.patch(`/v1/inboxes/${inboxId}`, { display_name: NAME })
  const from = `${NAME} <${inbox.address}>`
  const mail = { to: [TO], cc: [`"=?UTF-8?Q?Boss?=" <b@example.com>`], subject: 'Angebot', text: 'Guten Tag' }
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, mail)
  assert.equal(sent.status, 202, JSON.stringify(sent.body))

  const { body: message } = await account.api.get(`/v1/inbox-messages/${sent.body.id}`)
  assert.deepEqual([message.from, message.to, message.cc], [from, [TO], ['"=?UTF-8?Q?Boss?=" <b@example.com>']])
  const source: string = Buffer.from((await account.api.get(`/v1/inbox-messages/${sent.body.id}/raw`)).body).toString()
  assert.match(source, /^To: =\?UTF-8\?/m)
  const [event] = await account.box.app.world.db.many<{ data: { to: string[] } }>(
    sql`select data from events where inbox_id = ${inboxId} and type = 'message.sent'`,
  )
  assert.deepEqual(event!.data.to, [TO])

  for (const q of ['müller', 'to:muller', 'from:zoe']) {
    const { body } = await account.api.get(`/v1/inboxes/${inboxId}/search?q=${encodeURIComponent(q)}`)
    assert.equal(body.messages.length, 1, q)
  }
  const answer = await account.api.post(`/v1/inbox-messages/${sent.body.id}/reply`, {})
  const { body: answered } = await account.api.get(`/v1/inbox-messages/${answer.body.id}`)
  assert.deepEqual(answered.to, [TO])
  assert.ok(answered.text.includes(NAME) && !answered.text.includes('=?'), answered.text)
})

test('a name that decodes to half a character is stored without it', async () => {
  const account = await anAccount({ sandbox: true })
  const inboxId = await anInbox(account)
  const half = '=?utf-32?B?AADYAA==?= <a@example.com>'
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, { to: [half], text: 'x' })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const { body: message } = await account.api.get(`/v1/inbox-messages/${sent.body.id}`)
  assert.deepEqual(message.to, ['\ufffd <a@example.com>'])
})

test('mail can be answered whatever its author is called, and who is answered keeps the name', async () => {
  const account = await anAccount({ sandbox: true })
  const inboxId = await anInbox(account)
  const names = {
    '"=?utf-8?q?a=01b?=" <a@example.com>': '"=?utf-8?q?a=01b?=" <a@example.com>',
    'Ann\u0001Lee <a@example.com>': 'Ann Lee <a@example.com>',
    '"=?utf-8?q?a=01b?=" <a@example.com>, Bo <b@example.com>': 'a b <a@example.com>',
    'Bank \u202e <moc.knab@example.com>': 'Bank <moc.knab@example.com>',
  }
  for (const [from, to] of Object.entries(names)) {
    const { id } = await aFiledMessage(account.box, inboxId, { from })
    const answer = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'x' })
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    const { body: message } = await account.api.get(`/v1/inbox-messages/${answer.body.id}`)
    assert.equal(message.to[0], to)
  }
})

test('a person who approves a mail reads whom it goes to', async () => {
  const account = await anAccount({ sandbox: true })
  const inboxId = await anInbox(account)
  await account.api.patch(`/v1/inboxes/${inboxId}`, { display_name: NAME, policy: { max_send_per_hour: 0 } })
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, { to: [TO], text: 'x' })
  const { body: approval } = await account.api.get(`/v1/approvals/${sent.body.approval_id}`)
  assert.deepEqual(approval.message.to, [TO])
  assert.ok(approval.message.from.startsWith(`${NAME} <`), approval.message.from)
})

test('mail is found by its Bcc recipients', async () => {
  const account = await anAccount({ sandbox: true })
  const inboxId = await anInbox(account)
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, {
    to: ['a@example.com'],
    bcc: ['gamma@hidden.example'],
    text: 'x',
  })
  for (const q of ['to:gamma', 'gamma@hidden.example']) {
    const { body } = await account.api.get(`/v1/inboxes/${inboxId}/search?q=${encodeURIComponent(q)}`)
    assert.deepEqual(
      body.messages.map(({ id }: { id: string }) => id),
      [sent.body.id],
      q,
    )
  }
})
