// Out of a mailbox: new mail, replies and forwards, the thread that they are filed in, and what becomes of them.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import type { Db } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { longestTurn } from '../../../test/support/main-thread.ts'
import { filesOf, requireOriginal, textsOf } from './original.ts'

let account: TestAccount
before(async () => {
  account = await anAccount({ sandbox: true })
})

async function aMailbox(policy: object = {}) {
  const inboxId = await anInbox(account)
  const changed = await account.api.patch(`/v1/inboxes/${inboxId}`, { display_name: 'Team, "A"', policy })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  const address: string = changed.body.address
  return { inboxId, address, messages: `/v1/inboxes/${inboxId}/messages` }
}

const messageOf = async (id: string) => (await account.api.get(`/v1/inbox-messages/${id}`)).body
const rawOf = async (id: string): Promise<string> => {
  const { body } = await account.api.get(`/v1/inbox-messages/${id}/raw`)
  return typeof body === 'string' ? body : Buffer.from(body).toString()
}
const eventsOf = (inboxId: string) =>
  account.box.app.world.db.many<{ type: string; data: Record<string, unknown> }>(
    sql`select type, data from events where inbox_id = ${inboxId} order by id limit 1000`,
  )

test('a new mail is accepted, filed in sent as read, and told of; From is the inbox', async () => {
  const { inboxId, address, messages } = await aMailbox()
  const sent = await account.api.post(messages, {
    to: ['Bob <bob@example.com>'],
    bcc: ['secret@example.com'],
    subject: 'Offer',
    text: 'Hello Bob,\nhere it is.',
  })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  assert.equal(sent.body.status, 'queued')
  assert.equal(sent.body.queued, 2)
  const message = await messageOf(sent.body.id)
  assert.equal(message.folder, 'sent')
  assert.equal(message.read, true)
  assert.equal(message.direction, 'out')
  assert.equal(message.thread_id, sent.body.thread_id)
  assert.equal(message.message_id, sent.body.message_id)
  assert.deepEqual(message.to, ['Bob <bob@example.com>'])
  assert.deepEqual(message.bcc, ['secret@example.com'])
  assert.equal(message.text, 'Hello Bob,\nhere it is.')
  assert.equal(message.snippet, 'Hello Bob, here it is.')
  const raw = await rawOf(sent.body.id)
  assert.ok(raw.startsWith(String.raw`From: "Team, \"A\"" <${address}>`), raw)
  assert.ok(!raw.includes('secret@example.com'))
  const thread = await account.api.get(`/v1/threads/${sent.body.thread_id}`)
  assert.equal(thread.body.message_count, 1)
  assert.equal(thread.body.unread_count, 0)
  assert.deepEqual(thread.body.participants, ['bob@example.com'])
  const types = (await eventsOf(inboxId)).map(({ type }) => type)
  assert.ok(types.includes('message.sent') && types.includes('thread.updated'))
  const submitted = await account.api.get(`/v1/messages/${sent.body.message_id}`)
  assert.equal(submitted.body.deliveries.length, 2)
  await assertMailboxCounts(account.box.app.world.db)
})

test('a From of the caller is ignored and named, like any field that there is not', async () => {
  const { address, messages } = await aMailbox()
  const sent = await account.api.post(messages, { from: 'ceo@example.com', to: ['bob@example.com'], text: 'x' })
  assert.equal(sent.status, 202)
  assert.match(sent.headers.get('x-service-ignored-fields')!, /from/)
  assert.match(await rawOf(sent.body.id), new RegExp(`^From: .*<${address}>`))
})

test('a reply goes to Reply-To or From, refers to the original and stays in its thread', async () => {
  const { inboxId, address } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId, { from: 'Ann <ann@example.com>', subject: 'Question' })
  const before = await messageOf(original.id)
  const replied = await account.api.post(`/v1/inbox-messages/${original.id}/reply`, { text: 'An answer.' })
  assert.equal(replied.status, 202, JSON.stringify(replied.body))
  assert.equal(replied.body.thread_id, original.threadId)
  const message = await messageOf(replied.body.id)
  assert.deepEqual(message.to, ['Ann <ann@example.com>'])
  assert.equal(message.subject, 'Re: Question')
  assert.equal(message.in_reply_to, before.rfc_message_id)
  assert.deepEqual(message.references, [before.rfc_message_id])
  assert.equal(message.text, 'An answer.')
  assert.equal(message.extracted_text, 'An answer.')
  const again = await account.api.post(`/v1/inbox-messages/${replied.body.id}/reply`, { text: 'And more.' })
  assert.equal(again.body.thread_id, original.threadId)
  const second = await messageOf(again.body.id)
  assert.deepEqual(second.to, ['Ann <ann@example.com>'], 'a reply to what was sent goes to whom it was sent')
  assert.equal(second.subject, 'Re: Question')
  assert.equal(second.references.length, 2)
  assert.ok(!second.to.some((to: string) => to.includes(address)))
})

test('a reply to mail whose Reply-To is the inbox itself goes to the author', async () => {
  const { inboxId, address } = await aMailbox()
  const { id } = await aFiledMessage(account.box, inboxId, { from: 'Ann <ann@example.com>' })
  const answeredWhere = async (replyTo: string): Promise<string[]> => {
    await account.box.app.world.db.transact(system('test'), tx =>
      tx.run(sql`update inbox_messages set reply_to = ${replyTo} where id = ${id}`),
    )
    const { status, body } = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'x' })
    assert.equal(status, 202, JSON.stringify(body))
    return (await messageOf(body.id)).to
  }
  assert.deepEqual(await answeredWhere(`Us <${address.toUpperCase()}>`), ['Ann <ann@example.com>'])
  assert.deepEqual(await answeredWhere(`${address}, bob@example.com`), ['bob@example.com'])
})

test('reply_all copies To and Cc once each, without the inbox in any spelling', async () => {
  const { inboxId, address } = await aMailbox()
  const [local, domain] = address.split('@')
  const original = await aFiledMessage(account.box, inboxId, {
    from: '"Lee, Ann" <ann@example.com>',
    to: [
      address,
      `Us <${local}+tag@${domain!.toUpperCase()}>`,
      'bob@example.com',
      'BOB@example.com',
      'ann@example.com',
    ],
  })
  await account.box.app.world.db.transact({ ...BY }, tx =>
    tx.run(sql`update inbox_messages set cc_list = ${['Carl <carl@example.com>', 'bob@example.com', 'no address']}
      where id = ${original.id}`),
  )
  const replied = await account.api.post(`/v1/inbox-messages/${original.id}/reply`, { reply_all: true, text: 'All.' })
  assert.equal(replied.status, 202, JSON.stringify(replied.body))
  const message = await messageOf(replied.body.id)
  assert.deepEqual(message.to, ['"Lee, Ann" <ann@example.com>'])
  assert.deepEqual(message.cc, ['bob@example.com', 'Carl <carl@example.com>'])
})

test('whom the caller names in a reply stands in one field, as the caller wrote them', async () => {
  const { inboxId, address } = await aMailbox()
  const { id } = await aFiledMessage(account.box, inboxId, { to: [address, 'bob@example.com'] })
  await account.box.app.world.db.transact({ ...BY }, tx =>
    tx.run(sql`update inbox_messages set cc_list = ${['Carol <carol@example.com>']} where id = ${id}`),
  )
  const answer = async (body: object) => {
    const { status, body: answered } = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'x', ...body })
    assert.equal(status, 202, JSON.stringify(answered))
    const { to, cc } = await messageOf(answered.id)
    const headers = await rawOf(answered.id)
    assert.equal(headers.match(/carol@/gi)?.length ?? 0, [...to, ...cc].filter(each => /carol@/i.test(each)).length)
    return { to, cc }
  }
  const [ann, bob, carol] = ['Ann <ann@example.com>', 'bob@example.com', 'Carol <carol@example.com>']
  assert.deepEqual(await answer({ reply_all: true, cc: ['CAROL@example.com'] }), {
    to: [ann],
    cc: ['CAROL@example.com', bob],
  })
  assert.deepEqual(await answer({ reply_all: true, to: ['carol@example.com'] }), {
    to: ['carol@example.com'],
    cc: [bob],
  })
  assert.deepEqual(await answer({ cc: ['ann@example.com', bob] }), { to: [ann], cc: [bob] })
  assert.deepEqual(await answer({ reply_all: true, to: [] }), { to: [ann], cc: [bob, carol] })
})

test('reply_all to our own mail copies whom it went to, also where the caller names somebody else', async () => {
  const { messages } = await aMailbox()
  const sent = await account.api.post(messages, {
    to: ['a@example.com', 'b@example.com'],
    cc: ['c@example.com'],
    text: 'x',
  })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const answer = async (body: object) => {
    const replied = await account.api.post(`/v1/inbox-messages/${sent.body.id}/reply`, { text: 'y', ...body })
    const { to, cc } = await messageOf(replied.body.id)
    return { to, cc }
  }
  assert.deepEqual(await answer({ reply_all: true }), { to: ['a@example.com', 'b@example.com'], cc: ['c@example.com'] })
  assert.deepEqual(await answer({ reply_all: true, to: ['d@example.com', 'A@example.com'] }), {
    to: ['d@example.com', 'A@example.com'],
    cc: ['b@example.com', 'c@example.com'],
  })
})

test('a copy to a tag of the inbox itself makes it no participant', async () => {
  const { inboxId, address } = await aMailbox()
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, {
    to: ['ann@example.com'],
    cc: [address.replace('@', '+copies@')],
    text: 'x',
  })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const { body } = await account.api.get(`/v1/threads/${sent.body.thread_id}`)
  assert.deepEqual(body.participants, ['ann@example.com'])
})

test('an inbox with the longest name sends, and answers a stranger with a longer one', async () => {
  const inboxId = await anInbox(account)
  const display_name = '漢'.repeat(255)
  assert.equal((await account.api.patch(`/v1/inboxes/${inboxId}`, { display_name })).status, 200)
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, { to: ['bob@example.com'], text: 'x' })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const { id } = await aFiledMessage(account.box, inboxId, { from: `"${'😀'.repeat(250)}" <ann@example.com>` })
  const replied = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'x' })
  assert.equal(replied.status, 202, JSON.stringify(replied.body))
  const raw = await rawOf(replied.body.id)
  assert.deepEqual(
    raw.split('\r\n').filter(line => line.length > 100),
    [],
  )
  const again = await account.api.post(`/v1/inbox-messages/${replied.body.id}/reply`, { text: 'x' })
  assert.deepEqual([again.status, (await messageOf(again.body.id)).to.length], [202, 1], JSON.stringify(again.body))
})

test('addresses of a stranger that are hard to tell apart cost an answer next to nothing', async () => {
  const { inboxId } = await aMailbox()
  const { id } = await aFiledMessage(account.box, inboxId)
  const hostile = Array.from({ length: 1_000 }, (_, n) => `<x${n}@${'\\"'.repeat(120)}>`).join(', ')
  await account.box.app.world.db.transact({ ...BY }, tx =>
    tx.run(sql`update inbox_messages set reply_to = ${hostile}, from_text = ${hostile} where id = ${id}`),
  )
  const ms = await longestTurn(async () => {
    const { status } = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'x' })
    assert.ok(status === 422 || status === 400, `${status}`)
  })
  assert.ok(ms < 150, `${ms} ms`)
})

test('long texts are stored as short ones are', async () => {
  const { messages } = await aMailbox()
  for (const length of [10, 20_000]) {
    const [text, html] = ['"a\\\n'.repeat(length), `<p>${'é'.repeat(length)}</p>`]
    const { status, body } = await account.api.post(messages, { to: ['bob@example.com'], text, html })
    assert.equal(status, 202, JSON.stringify(body))
    const message = await messageOf(body.id)
    assert.equal(message.text, text)
    assert.equal(message.extracted_text, text)
    assert.ok(message.html.includes('é'.repeat(length)))
  }
})

test('a reply goes to at most 20 people that a stranger chose, and to all to at most 100', async () => {
  const { inboxId } = await aMailbox()
  const people = (count: number, name = 'u') => Array.from({ length: count }, (_, n) => `${name}${n}@example.com`)
  const answer = async (body: object, { replyTo, to }: { replyTo: number; to: number }) => {
    const { id } = await aFiledMessage(account.box, inboxId, { to: people(to, 'to') })
    await account.box.app.world.db.transact({ ...BY }, tx =>
      tx.run(sql`update inbox_messages set reply_to = ${people(replyTo).join(', ')} where id = ${id}`),
    )
    const { status, body: answered } = await account.api.post(`/v1/inbox-messages/${id}/reply`, { text: 'x', ...body })
    return status === 202 ? answered.queued : answered.error.code
  }
  assert.equal(await answer({}, { replyTo: 20, to: 1 }), 20)
  assert.equal(await answer({}, { replyTo: 21, to: 1 }), 'too_many_recipients')
  assert.equal(await answer({ to: ['bob@example.com'] }, { replyTo: 21, to: 1 }), 1)
  assert.equal(await answer({ reply_all: true }, { replyTo: 20, to: 80 }), 100)
  assert.equal(await answer({ reply_all: true }, { replyTo: 20, to: 81 }), 'too_many_recipients')
})

test('a reply to our own mail goes to all that it went to, or to nobody where they are too many', async () => {
  const { messages } = await aMailbox()
  await account.api.patch(`/v1/tenants/${account.tenant.id}`, { max_recipients_per_message: 1_001 })
  const answer = async (count: number, body: object = {}) => {
    const to = Array.from({ length: count }, (_, n) => `u${n}@example.com`)
    const sent = await account.api.post(messages, { to, text: 'x' })
    assert.deepEqual([sent.status, sent.body.queued], [202, count])
    const path = `/v1/inbox-messages/${sent.body.id}/reply`
    const { status, body: answered } = await account.api.post(path, { text: 'x', ...body })
    return status === 202 ? answered.queued : answered.error.code
  }
  assert.equal(await answer(1_000), 1_000)
  assert.equal(await answer(1_001), 'too_many_recipients')
  assert.equal(await answer(1_001, { to: ['bob@example.com'] }), 1)
  assert.equal(await answer(1_001, { to: ['bob@example.com'], reply_all: true }), 'too_many_recipients')
})

const BY = { type: 'system', id: null, name: 'test', ip: null, requestId: null, action: null } as const

test('a reply without a body quotes the original under a line that says whose it is', async () => {
  const { inboxId } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId, {
    text: 'First line\nsecond line',
    html: '<p>First line</p></blockquote><b>second',
  })
  const replied = await account.api.post(`/v1/inbox-messages/${original.id}/reply`)
  assert.equal(replied.status, 202, JSON.stringify(replied.body))
  const message = await messageOf(replied.body.id)
  assert.match(
    message.text,
    /On \d{4}-\d\d-\d\d \d\d:\d\d UTC, Ann <ann@example.com> wrote:\n> First line\n> second line/,
  )
  assert.match(message.html, /<blockquote/)
})

test('a reply to a mail that names nobody is refused, unless the caller says to whom', async () => {
  const { inboxId } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId, { from: '' })
  const path = `/v1/inbox-messages/${original.id}/reply`
  const refused = await account.api.post(path, { text: 'x' })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.error.code, 'invalid_message')
  const sent = await account.api.post(path, { text: 'x', to: ['bob@example.com'] })
  assert.equal(sent.status, 202)
  assert.equal(sent.body.thread_id, original.threadId)
})

test('of three hundred references the first and the nearest are kept, in one line of 998 bytes', async () => {
  const { inboxId } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId)
  const ids = Array.from({ length: 300 }, (_, n) => `<reference-${n}@some.example.com>`)
  const hostile = ['<a\r\nBcc: x@example.com>', 'no brackets', `<${'x'.repeat(500)}@example.com>`]
  await account.box.app.world.db.transact({ ...BY }, tx =>
    tx.run(sql`update inbox_messages set reference_ids = ${[...ids, ...hostile]} where id = ${original.id}`),
  )
  const replied = await account.api.post(`/v1/inbox-messages/${original.id}/reply`, { text: 'x' })
  assert.equal(replied.status, 202, JSON.stringify(replied.body))
  const { references, in_reply_to } = await messageOf(replied.body.id)
  assert.equal(references[0], ids[0])
  assert.equal(references.at(-1), in_reply_to)
  assert.equal(references.at(-2), ids.at(-1))
  assert.ok(references.join(' ').length <= 998)
  assert.ok(!/^bcc:/im.test(await rawOf(replied.body.id)))
})

test('a forward carries the text of the caller, who wrote what, the original and its files', async () => {
  const { inboxId } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId, {
    subject: 'Numbers',
    text: 'The numbers are attached.',
    html: '<p>The <b>numbers</b> are attached.</p>',
    attachments: [
      { filename: 'a.txt', content: 'one' },
      { filename: 'b.txt', content: 'two' },
    ],
  })
  const forwarded = await account.api.post(`/v1/inbox-messages/${original.id}/forward`, {
    to: ['bob@example.com'],
    text: 'For you <b>',
    attachments: [{ filename: 'c.txt', content: Buffer.from('three').toString('base64') }],
  })
  assert.equal(forwarded.status, 202, JSON.stringify(forwarded.body))
  assert.equal(forwarded.body.thread_id, original.threadId)
  const message = await messageOf(forwarded.body.id)
  assert.equal(message.subject, 'Fwd: Numbers')
  assert.equal(message.in_reply_to, null)
  assert.match(
    message.text,
    /^For you <b>\n\n-+ Forwarded message -+\nFrom: Ann <ann@example.com>\nDate: .*\nSubject: Numbers\n/,
  )
  assert.match(message.text, /The numbers are attached\.\n/)
  assert.match(message.html, /For you &lt;b&gt;/)
  assert.match(message.html, /<b>numbers<\/b>/)
  assert.equal(message.extracted_text, 'For you <b>')
  assert.deepEqual(
    message.attachments.map(({ filename }: { filename: string }) => filename),
    ['c.txt', 'a.txt', 'b.txt'],
  )
})

test('blocked mail is forwarded by nobody, and quoted by no reply, draft or schedule', async () => {
  const { inboxId } = await aMailbox()
  const { id } = await aFiledMessage(account.box, inboxId, { blocked: true, folder: 'spam' })
  const path = `/v1/inbox-messages/${id}`
  const later = new Date(account.box.clock.now().getTime() + 3_600_000).toISOString()
  for (const send_at of [undefined, later]) {
    const forwarded = await account.api.post(`${path}/forward`, { to: ['bob@example.com'], text: 'x', send_at })
    assert.deepEqual([forwarded.status, forwarded.body.error?.code], [403, 'forbidden'])
    const quoting = await account.api.post(`${path}/reply`, { send_at })
    assert.deepEqual([quoting.status, quoting.body.error?.code], [422, 'invalid_message'])
  }
  const { body } = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, { reply_to_id: id })
  const sent = await account.api.post(`/v1/drafts/${body.draft.id}/send`)
  assert.deepEqual([sent.status, sent.body.error?.code], [422, 'invalid_message'])
  assert.equal((await account.api.post(`${path}/reply`, { text: 'Own words.' })).status, 202)
})

test('an original that is deleted between two looks at it is 404', async () => {
  const { inboxId } = await aMailbox()
  const { db } = account.box.app.world
  const reach = { accountId: account.id, tenantId: null, inboxId: null }
  const { id, sourceId } = await aFiledMessage(account.box, inboxId)
  const read = await requireOriginal(db, reach, id)
  const remove = () => account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)
  // Gone as soon as its row was read.
  const racing: Pick<Db, 'one' | 'maybe'> = {
    one: query => db.one(query),
    maybe: async query => {
      const row = await db.maybe(query)
      await remove()
      return row as never
    },
  }
  const isNotFound = { code: 'not_found' }
  await assert.rejects(requireOriginal(racing as Db, reach, id), isNotFound)
  const source = sql`select 1 as found from mail_sources where id = ${sourceId}`
  await eventually('its source is gone', async () => (await db.maybe(source)) === null)
  await assert.rejects(filesOf(db, read, await textsOf(db, read)), isNotFound)
})

test('our own mail whose HTML could not be read is forwarded as a file', async () => {
  const { inboxId } = await aMailbox()
  const forward = async (source: string): Promise<string[]> => {
    const { id } = await aFiledMessage(account.box, inboxId, { direction: 'out', folder: 'sent', text: '', source })
    const { body } = await account.api.post(`/v1/inbox-messages/${id}/forward`, { to: ['bob@example.com'], text: 'x' })
    return (await messageOf(body.id)).attachments.map(({ filename }: { filename: string }) => filename)
  }
  assert.deepEqual(await forward('Subject: a\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hello</p>\r\n'), [
    'original.eml',
  ])
  assert.deepEqual(await forward('Subject: b\r\nContent-Type: text/plain\r\n\r\n'), [])
})

test('a forward whose files are larger than 25 MB together is refused with 422', async () => {
  const { inboxId } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId, { attachments: [{ filename: 'a.bin', content: 'x' }] })
  await account.box.app.world.db.transact({ ...BY }, tx =>
    tx.run(sql`update source_attachments set size = 26214401 where source_id = ${original.sourceId}`),
  )
  const path = `/v1/inbox-messages/${original.id}/forward`
  const refused = await account.api.post(path, { to: ['bob@example.com'] })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.error.code, 'attachments_too_large')
  const nobody = await account.api.post(path, {})
  assert.equal(nobody.status, 422)
})

test('the same idempotency key gives one mail, however often and at once; another body is a conflict', async () => {
  const { inboxId, messages } = await aMailbox()
  const headers = { 'idempotency-key': unique('key') }
  const body = { to: ['bob@example.com'], subject: 'Once', text: 'x' }
  const answers = await Promise.all(Array.from({ length: 8 }, () => account.api.post(messages, body, headers)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202])
  assert.equal(new Set(answers.map(answer => answer.body.id)).size, 1)
  assert.equal(answers.filter(answer => !answer.body.duplicate).length, 1)
  const other = await account.api.post(messages, { ...body, text: 'y' }, headers)
  assert.equal(other.status, 409)
  assert.equal(other.body.error.code, 'idempotency_conflict')
  const list = await account.api.get(`/v1/inboxes/${inboxId}/messages?folder=sent`)
  assert.equal(list.body.messages.length, 1)
})

test('a paused inbox sends nothing, and a disabled tenant neither', async () => {
  const { inboxId, messages } = await aMailbox()
  await account.api.patch(`/v1/inboxes/${inboxId}`, { status: 'paused' })
  const paused = await account.api.post(messages, { to: ['bob@example.com'], text: 'x' })
  assert.equal(paused.status, 403)
  assert.equal(paused.body.error.code, 'inbox_paused')
  const other = await anAccount({ sandbox: true, box: account.box })
  const inbox = await anInbox(other)
  await other.api.patch(`/v1/tenants/${other.tenant.id}`, { status: 'disabled' })
  for (const body of [{ to: ['bob@example.com'], text: 'x' }, { to: ['nonsense'] }]) {
    const refused = await other.api.post(`/v1/inboxes/${inbox}/messages`, body)
    assert.equal(refused.status, 403, JSON.stringify(refused.body))
    assert.equal(refused.body.error.code, 'tenant_disabled')
  }
})

test('limits, pauses and suppressions apply as to any message, and what is refused leaves no trace', async () => {
  const other = await anAccount({ sandbox: true, box: account.box })
  const inboxId = await anInbox(other)
  const path = `/v1/inboxes/${inboxId}/messages`
  await other.api.post('/v1/suppressions', { address: 'gone@example.com' })
  const suppressed = await other.api.post(path, { to: ['gone@example.com'], text: 'x' })
  assert.equal(suppressed.body.status, 'suppressed')
  assert.equal(suppressed.body.suppressed, 1)
  await other.api.post(`/v1/tenants/${other.tenant.id}/pause`, { queue_action: 'hold' })
  const held = await other.api.post(path, { to: ['bob@example.com'], text: 'x' })
  assert.equal(held.body.status, 'held')
  assert.equal(held.body.approval_id, null)
  await other.api.post(`/v1/tenants/${other.tenant.id}/resume`)
  await other.api.patch(`/v1/tenants/${other.tenant.id}`, { quota_daily: 0 })
  const over = await other.api.post(path, { to: ['bob@example.com'], text: 'x' })
  assert.equal(over.status, 429)
  assert.equal(over.body.error.code, 'quota_exceeded')
  await other.api.patch(`/v1/tenants/${other.tenant.id}`, { quota_daily: null })
  await other.api.post(`/v1/tenants/${other.tenant.id}/pause`, { queue_action: 'reject' })
  const rejected = await other.api.post(path, { to: ['bob@example.com'], text: 'x' })
  assert.equal(rejected.body.error.code, 'sending_suspended')
  const invalid = await other.api.post(path, { to: ['not an address'], text: 'x' })
  assert.equal(invalid.status, 422)
  const list = await other.api.get(`/v1/inboxes/${inboxId}/messages?folder=sent`)
  assert.equal(list.body.messages.length, 2)
  await assertMailboxCounts(account.box.app.world.db)
})

test('the status follows the deliveries, and the streams are told', async () => {
  const { inboxId, messages } = await aMailbox()
  const expected = {
    'bob@example.com': 'delivered',
    'bounce@example.com': 'bounced',
    'complain@example.com': 'complained',
  }
  const ids = new Map<string, string>()
  for (const [to, status] of Object.entries(expected)) {
    ids.set((await account.api.post(messages, { to: [to], text: 'x', subject: unique('s') })).body.id, status)
  }
  for (const [id, status] of ids) {
    await eventually(`status ${status}`, async () => (await messageOf(id)).status === status, 20_000)
  }
  for (const type of ['message.delivered', 'message.bounced', 'message.complained']) {
    await eventually(type, async () => (await eventsOf(inboxId)).some(event => event.type === type))
  }
})

test('a key of another inbox or tenant does not find the inbox or the message', async () => {
  const { inboxId, messages } = await aMailbox()
  const original = await aFiledMessage(account.box, inboxId)
  const foreign = await anInbox(account)
  const key = await account.withKey({ scopes: ['send', 'read'], inbox_id: foreign })
  const body = { to: ['bob@example.com'], text: 'x' }
  for (const path of [
    messages,
    `/v1/inbox-messages/${original.id}/reply`,
    `/v1/inbox-messages/${original.id}/forward`,
  ]) {
    assert.equal((await key.post(path, body)).status, 404)
  }
  assert.equal((await key.post(`/v1/inboxes/${foreign}/messages`, body)).status, 202)
  const reader = await account.withKey({ scopes: ['read'] })
  assert.equal((await reader.post(messages, body)).status, 403)
})

test('fifty mails at once are each filed once, in several inboxes and one thread, with exact counts', async () => {
  const boxes = await Promise.all([aMailbox(), aMailbox(), aMailbox()])
  const sent = await Promise.all(
    Array.from({ length: 51 }, (_, n) =>
      account.api.post(boxes[n % 3]!.messages, { to: ['bob@example.com'], subject: 'Same', text: `Mail ${n}` }),
    ),
  )
  assert.deepEqual([...new Set(sent.map(({ status }) => status))], [202])
  for (const { inboxId } of boxes) {
    const { body } = await account.api.get(`/v1/inboxes/${inboxId}/threads`)
    assert.equal(body.threads.length, 1)
    assert.equal(body.threads[0].message_count, 17)
  }
  await assertMailboxCounts(account.box.app.world.db)
})
