// Messages of an inbox: lists and their filters, reading, filing, deleting, batches.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts, manyFiledMessages } from '../../../test/support/mailbox.ts'

let account: TestAccount

before(async () => {
  account = await anAccount()
})

const idsOf = (body: { messages: { id: string }[] }): string[] => body.messages.map(({ id }) => id)
const db = () => account.box.app.world.db
const eventsOf = (inbox: string) =>
  db().many<{ type: string; data: Record<string, unknown> }>(
    sql`select type, data from events where inbox_id = ${inbox} order by id`,
  )

test('a message is shown alone with its texts, and in lists without them', async () => {
  const inbox = await anInbox(account)
  const filed = await aFiledMessage(account.box, inbox, {
    from: 'Ann Öz <ann@example.com>',
    subject: 'Offer',
    text: 'Hello.',
    html: '<p>Hello.</p>',
    attachments: [
      { filename: 'a.txt', content: 'aa' },
      { filename: 'b.txt', content: 'b' },
    ],
  })

  const { status, body } = await account.api.get(`/v1/inbox-messages/${filed.id}`)

  assert.equal(status, 200)
  assert.deepEqual(
    [body.id, body.inbox_id, body.thread_id, body.direction, body.folder, body.read, body.from, body.subject],
    [filed.id, inbox, filed.threadId, 'in', 'inbox', false, 'Ann Öz <ann@example.com>', 'Offer'],
  )
  assert.deepEqual(
    [body.text, body.html, body.extracted_text, body.snippet],
    ['Hello.', '<p>Hello.</p>', 'Hello.', 'Hello.'],
  )
  assert.deepEqual(
    body.attachments,
    ['a.txt', 'b.txt'].map((filename, n) => ({
      id: filed.attachmentIds[n],
      filename,
      content_type: 'text/plain',
      size: 2 - n,
      content_id: null,
      inline: false,
    })),
  )
  assert.deepEqual(body.notes, [])
  const { text: _text, html: _html, extracted_text: _new, notes: _notes, ...summary } = body
  const list = (await account.api.get(`/v1/inboxes/${inbox}/messages`)).body
  assert.deepEqual(list.messages, [summary])
  assert.equal(list.next_cursor, null)
})

test('without a folder a list shows everything but trash, newest first, and says what it left out', async () => {
  const inbox = await anInbox(account)
  const [a, spam, , b] = [
    await aFiledMessage(account.box, inbox, { folder: 'archive' }),
    await aFiledMessage(account.box, inbox, { folder: 'spam', blocked: true }),
    await aFiledMessage(account.box, inbox, { folder: 'trash' }),
    await aFiledMessage(account.box, inbox),
  ]
  const list = async (query: string) => (await account.api.get(`/v1/inboxes/${inbox}/messages?${query}`)).body

  assert.deepEqual(idsOf(await list('')), [b.id, spam.id, a.id])
  assert.deepEqual((await list('')).hidden, { spam: 0, trash: 1, blocked: 0 })
  assert.deepEqual((await list('folder=inbox')).hidden, { spam: 1, trash: 1, blocked: 1 })
  assert.deepEqual(idsOf(await list('folder=Archive')), [a.id])
  assert.equal(idsOf(await list('folder=all')).length, 4)
  assert.deepEqual((await list('folder=all')).hidden, { spam: 0, trash: 0, blocked: 0 })
  assert.equal((await account.api.get(`/v1/inboxes/${inbox}/messages?folder=nowhere`)).status, 400)
})

test('lists are filtered by folder, read flag, direction, label and a part of the sender, in any combination', async () => {
  const inbox = await anInbox(account)
  const read = await aFiledMessage(account.box, inbox, { read: true, from: '"Bob_%" <bob@Example.org>' })
  const sent = await aFiledMessage(account.box, inbox, {
    folder: 'sent',
    direction: 'out',
    read: true,
    from: 'me@x.test',
  })
  const unread = await aFiledMessage(account.box, inbox, { folder: 'archive' })
  await account.api.put(`/v1/inbox-messages/${read.id}/labels`, { labels: ['To do', 'x'] })
  await account.api.put(`/v1/inbox-messages/${unread.id}/labels`, { labels: ['To do'] })
  const list = async (query: string) => {
    const { status, body } = await account.api.get(`/v1/inboxes/${inbox}/messages?${query}`)
    assert.equal(status, 200, `${query} ${JSON.stringify(body)}`)
    return idsOf(body)
  }

  assert.deepEqual(await list('unread=true'), [unread.id])
  assert.deepEqual(await list('unread=false'), [sent.id, read.id])
  assert.deepEqual(await list('direction=out'), [sent.id])
  assert.deepEqual(await list('direction=in'), [unread.id, read.id])
  assert.deepEqual(await list('label=To%20do'), [unread.id, read.id])
  assert.deepEqual(await list('label=to%20do'), [])
  assert.deepEqual(await list('label=To%20do&unread=true'), [unread.id])
  assert.deepEqual(await list('label=To%20do&folder=inbox'), [read.id])
  assert.deepEqual(await list('from=BOB@example'), [read.id])
  assert.deepEqual(await list('from=_%25'), [read.id], 'wildcards of the database mean themselves')
  assert.deepEqual(await list('from=%25'), [read.id])
  assert.deepEqual(await list('from=ann&folder=archive&direction=in&unread=true'), [unread.id])
  for (const wrong of ['unread=maybe', 'direction=up', 'label=', 'from=', `from=${'x'.repeat(321)}`, 'limit=0']) {
    assert.equal((await account.api.get(`/v1/inboxes/${inbox}/messages?${wrong}`)).status, 400, wrong)
  }
})

test('pages hold every message once, whatever is filed meanwhile, and a cursor belongs to one inbox', async () => {
  const [inbox, other] = [await anInbox(account), await anInbox(account)]
  const filed: string[] = []
  for (let n = 0; n < 7; n++) {
    filed.unshift((await aFiledMessage(account.box, inbox, { folder: n % 2 ? 'inbox' : 'spam' })).id)
  }
  for (const filter of ['', '&from=ann', '&unread=true']) {
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: string = `limit=3${filter}${cursor ? `&cursor=${cursor}` : ''}`
      const { body } = await account.api.get(`/v1/inboxes/${inbox}/messages?${query}`)
      for (const id of idsOf(body)) seen.push(id)
      cursor = body.next_cursor
      if (filter === '' && seen.length === 3) await aFiledMessage(account.box, inbox, { folder: 'trash' })
    } while (cursor !== null)
    assert.deepEqual(seen, filed, filter)
  }
  const { next_cursor } = (await account.api.get(`/v1/inboxes/${inbox}/messages?limit=1`)).body
  for (const path of [`/v1/inboxes/${other}/messages`, `/v1/inboxes/${inbox}/threads`]) {
    assert.equal((await account.api.get(`${path}?cursor=${next_cursor}`)).status, 400, path)
  }
})

test('the source is answered as it was stored, with our finding above it, also when it is large', async () => {
  const inbox = await anInbox(account)
  const authenticationResults = 'Authentication-Results: mx.sluice.test;\r\n\tspf=pass\r\n'
  for (const length of [10, 3_000_000]) {
    const source = `Subject: x\r\n\r\n${'0123456789'.repeat(length / 10)}\r\n`
    const { id } = await aFiledMessage(account.box, inbox, { source, authenticationResults })
    const raw = await account.api.get(`/v1/inbox-messages/${id}/raw`)
    assert.equal(raw.status, 200)
    assert.equal(raw.headers.get('content-type'), 'message/rfc822')
    assert.equal(raw.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(raw.headers.get('content-length'), String(authenticationResults.length + source.length))
    assert.ok(raw.body === authenticationResults + source, `${length} bytes are the same`)
  }
})

test('the HTML is answered as JSON, and text without HTML is escaped', async () => {
  const inbox = await anInbox(account)
  const plain = await aFiledMessage(account.box, inbox, { text: '<b>1 & "2"</b>' })
  const rich = await aFiledMessage(account.box, inbox, { html: '<p>x</p>' })
  assert.deepEqual((await account.api.get(`/v1/inbox-messages/${rich.id}/html`)).body, {
    id: rich.id,
    html: '<p>x</p>',
  })
  const { html } = (await account.api.get(`/v1/inbox-messages/${plain.id}/html`)).body
  assert.equal(html, '<pre style="white-space:pre-wrap">&#60;b&#62;1 &#38; &#34;2&#34;&#60;/b&#62;</pre>')
})

test('mail that could not be read is shown with its source and without texts', async () => {
  const inbox = await anInbox(account)
  const { id, sourceId } = await aFiledMessage(account.box, inbox)
  await db().transact(system('test'), tx => tx.run(sql`delete from source_texts where source_id = ${sourceId}`))
  const { body } = await account.api.get(`/v1/inbox-messages/${id}`)
  assert.deepEqual([body.text, body.html, body.extracted_text, body.notes], ['', null, '', []])
  assert.equal((await account.api.get(`/v1/inbox-messages/${id}/html`)).body.html, null)
  assert.equal((await account.api.get(`/v1/inbox-messages/${id}/raw`)).status, 200)
})

test('read flag, labels and folder change the message, its counts and the stream, and nothing when they are as asked', async () => {
  const inbox = await anInbox(account)
  const { id, threadId } = await aFiledMessage(account.box, inbox)
  const path = `/v1/inbox-messages/${id}`

  for (let n = 0; n < 2; n++) {
    assert.equal((await account.api.post(`${path}/read`, { read: true })).body.read, true)
    assert.deepEqual((await account.api.put(`${path}/labels`, { labels: [' a ', 'b', 'a'] })).body.labels, ['a', 'b'])
    assert.equal((await account.api.post(`${path}/move`, { folder: 'ARCHIVE' })).body.folder, 'archive')
  }

  const data = { message_id: id, thread_id: threadId, folder: 'inbox', read: true, labels: [] as string[] }
  assert.deepEqual(await eventsOf(inbox), [
    { type: 'message.updated', data },
    { type: 'message.updated', data: { ...data, labels: ['a', 'b'] } },
    { type: 'message.updated', data: { ...data, labels: ['a', 'b'], folder: 'archive' } },
  ])
  assert.equal((await account.api.get(`/v1/threads/${threadId}`)).body.unread_count, 0)
  await account.api.put(`${path}/labels`, { labels: ['b'] })
  assert.deepEqual(idsOf((await account.api.get(`/v1/inboxes/${inbox}/messages?label=a`)).body), [])
  for (const folder of ['nowhere', 'sent', 'Sent']) {
    assert.equal((await account.api.post(`${path}/move`, { folder })).status, 400, folder)
  }
  for (const labels of [
    ['x'.repeat(65)],
    [' '],
    ['a\u0007'],
    Array.from({ length: 51 }, (_, n) => `l${n}`),
    'a',
    [1],
  ]) {
    assert.equal((await account.api.put(`${path}/labels`, { labels })).status, 400, JSON.stringify(labels).slice(0, 80))
  }
  assert.equal((await account.api.post(`${path}/read`, { read: 'yes' })).status, 400)
  assert.equal((await account.api.post(`${path}/read`)).body.read, true)
  await assertMailboxCounts(db())
})

test('delete goes to trash first, then for good; permanent goes at once; the source goes with its last message', async () => {
  const inbox = await anInbox(account)
  const first = await aFiledMessage(account.box, inbox)
  const twin = await aFiledMessage(account.box, inbox, { sourceId: first.sourceId, threadId: first.threadId })

  const trashed = await account.api.delete(`/v1/inbox-messages/${first.id}`)
  assert.deepEqual(trashed.body, { id: first.id, trashed: true, deleted: false })
  assert.equal((await account.api.get(`/v1/inbox-messages/${first.id}`)).body.folder, 'trash')
  const deleted = await account.api.delete(`/v1/inbox-messages/${first.id}`)
  assert.deepEqual(deleted.body, { id: first.id, trashed: false, deleted: true })
  assert.equal((await account.api.get(`/v1/inbox-messages/${first.id}`)).status, 404)
  assert.equal((await account.api.delete(`/v1/inbox-messages/${first.id}`)).status, 404)
  const queueIsEmpty = async () =>
    (await db().maybe(sql`select 1 as found from source_removals where source_id = ${first.sourceId}`)) === null
  await eventually('the source was looked at', queueIsEmpty)
  assert.equal((await account.api.get(`/v1/inbox-messages/${twin.id}/raw`)).status, 200, 'the source is shared')

  const permanent = await account.api.delete(`/v1/inbox-messages/${twin.id}?permanent=true`)

  assert.deepEqual(permanent.body, { id: twin.id, trashed: false, deleted: true })
  assert.equal(
    (await account.api.get(`/v1/threads/${first.threadId}`)).status,
    404,
    'the thread ends with its last message',
  )
  await eventually(
    'the source is gone',
    async () => (await db().maybe(sql`select 1 as found from mail_sources where id = ${first.sourceId}`)) === null,
  )
  assert.deepEqual(
    (await eventsOf(inbox)).map(({ type }) => type),
    ['message.updated', 'message.deleted', 'message.deleted'],
  )
  await assertMailboxCounts(db())
})

test('under legal hold mail may go to trash, and nothing goes for good', async () => {
  const held = await anAccount()
  const inbox = await anInbox(held)
  const [a, b] = [await aFiledMessage(held.box, inbox), await aFiledMessage(held.box, inbox, { folder: 'trash' })]
  await held.api.patch('/v1/account', { legal_hold: true })

  for (const path of [`${a.id}?permanent=true`, b.id]) {
    const refused = await held.api.delete(`/v1/inbox-messages/${path}`)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  }
  const batch = { action: 'delete', ids: [a.id, b.id] }
  assert.equal((await held.api.post(`/v1/inboxes/${inbox}/batch`, batch)).status, 409)
  assert.equal(
    (await held.api.get(`/v1/inbox-messages/${a.id}`)).body.folder,
    'inbox',
    'a refused batch changes nothing',
  )
  assert.equal((await held.api.delete(`/v1/inbox-messages/${a.id}`)).body.trashed, true)
})

test('a batch moves, deletes and marks; other ids are missing; an id that is given twice counts once', async () => {
  const [inbox, other] = [await anInbox(account), await anInbox(account)]
  const stranger = await anAccount()
  const foreign = await aFiledMessage(stranger.box, await anInbox(stranger))
  const elsewhere = await aFiledMessage(account.box, other)
  const own: string[] = []
  for (let n = 0; n < 3; n++) own.push((await aFiledMessage(account.box, inbox)).id)
  const ids = [...own, own[0]!.toUpperCase(), elsewhere.id, foreign.id, crypto.randomUUID()]
  const batch = async (body: object) => {
    const reply = await account.api.post(`/v1/inboxes/${inbox}/batch`, body)
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    return reply.body
  }

  assert.deepEqual(await batch({ action: 'read', ids }), { moved: 0, deleted: 0, missing: 3 })
  assert.deepEqual(await batch({ action: 'unread', ids: own.slice(1) }), { moved: 0, deleted: 0, missing: 0 })
  assert.deepEqual(await batch({ action: 'move', ids, folder: 'spam' }), { moved: 3, deleted: 0, missing: 3 })
  assert.deepEqual(await batch({ action: 'move', ids, folder: 'spam' }), { moved: 0, deleted: 0, missing: 3 })
  assert.deepEqual(await batch({ action: 'delete', ids: [own[0]] }), { moved: 1, deleted: 0, missing: 0 })
  assert.deepEqual(await batch({ action: 'delete', ids: own.slice(0, 2) }), { moved: 1, deleted: 1, missing: 0 })
  assert.deepEqual(await batch({ action: 'delete', ids, permanent: true }), { moved: 0, deleted: 2, missing: 4 })
  assert.deepEqual(await batch({ action: 'read', ids: [] }), { moved: 0, deleted: 0, missing: 0 })
  assert.equal((await account.api.get(`/v1/inbox-messages/${elsewhere.id}`)).body.read, false)
  for (const wrong of [
    { action: 'move', ids: own },
    { action: 'move', ids: own, folder: 'sent' },
    { action: 'move', ids: own, folder: 'nowhere' },
    { action: 'burn', ids: own },
    { action: 'read', ids: ['x'] },
    { action: 'read', ids: Array.from({ length: 201 }, () => crypto.randomUUID()) },
    { action: 'read' },
  ]) {
    assert.equal(
      (await account.api.post(`/v1/inboxes/${inbox}/batch`, wrong)).status,
      400,
      JSON.stringify(wrong).slice(0, 80),
    )
  }
  await assertMailboxCounts(db())
})

test('a page with very long address lists ends early and goes on from its cursor', async () => {
  const inbox = await anInbox(account)
  const to = Array.from({ length: 1000 }, (_, n) => `${'x'.repeat(230)}${n}@example.com`)
  const filed: string[] = []
  for (let n = 0; n < 9; n++) filed.unshift((await aFiledMessage(account.box, inbox, { to })).id)
  const seen: string[] = []
  let pages = 0
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const { body } = await account.api.get(`/v1/inboxes/${inbox}/messages${cursor && `?cursor=${cursor}`}`)
    for (const id of idsOf(body)) seen.push(id)
    cursor = body.next_cursor
  }
  assert.deepEqual(seen, filed)
  assert.ok(pages >= 3, `${pages} pages`)
})

test('lists show the first ten attachments of each message and say that there are more; alone it has all', async () => {
  const inbox = await anInbox(account)
  const attachments = Array.from({ length: 900 }, (_, n) => ({ filename: `${n}.txt`, content: 'x' }))
  const { id, threadId } = await aFiledMessage(account.box, inbox, { attachments })
  for (let n = 0; n < 2; n++) await aFiledMessage(account.box, inbox, { threadId, attachments })
  await aFiledMessage(account.box, inbox, { threadId, attachments: attachments.slice(0, 10) })
  for (const path of [`inboxes/${inbox}`, `threads/${threadId}`]) {
    const { messages } = (await account.api.get(`/v1/${path}/messages`)).body
    const shown = messages.map((each: { attachments: object[]; attachments_truncated: boolean }) => [
      each.attachments.length,
      each.attachments_truncated,
    ])
    const long = [10, true]
    assert.deepEqual(path.startsWith('threads') ? shown.toReversed() : shown, [[10, false], long, long, long])
  }
  const { body } = await account.api.get(`/v1/inbox-messages/${id}`)
  assert.deepEqual([body.attachments.length, body.attachments_truncated], [900, false])
})

test('a key that may file but not read is shown how a message is filed, and nothing of what it says', async () => {
  const inbox = await anInbox(account)
  const attachments = [{ filename: 'secret.txt', content: 'x' }]
  const text = 'secret plans'
  const subject = 'secret subject'
  const from = 'Secret <secret@example.com>'
  const { id, threadId } = await aFiledMessage(account.box, inbox, { from, subject, text, html: text, attachments })
  const sender = await account.withKey({ scopes: ['send'], inbox_id: inbox })
  const path = `/v1/inbox-messages/${id}`
  assert.equal((await sender.get(path)).status, 403)
  const answers = [
    await sender.post(`${path}/read`, { read: true }),
    await sender.put(`${path}/labels`, { labels: ['a'] }),
    await sender.post(`${path}/move`, { folder: 'archive' }),
    await sender.put(`/v1/threads/${threadId}/labels`, { labels: ['b'] }),
  ]
  for (const { status, body } of answers) {
    assert.equal(status, 200)
    assert.doesNotMatch(JSON.stringify(body), /secret|ann@/i)
  }
  const moved = answers[2]!.body
  assert.deepEqual([moved.id, moved.read, moved.labels, moved.folder], [id, true, ['a'], 'archive'])
  assert.deepEqual(answers[3]!.body.labels, ['b'])
  const both = await account.withKey({ scopes: ['send', 'read'], inbox_id: inbox })
  assert.equal((await both.post(`${path}/read`, { read: false })).body.text, text)
  assert.equal((await both.put(`/v1/threads/${threadId}/labels`, { labels: [] })).body.subject, subject)
})

test('a filter that no index serves looks at a bounded number of messages and goes on from its cursor', async () => {
  const inbox = await anInbox(account)
  const needle = await aFiledMessage(account.box, inbox, { from: 'Needle <needle@example.org>', direction: 'out' })
  await manyFiledMessages(account.box, inbox, 6_000)
  for (const filter of ['from=needle', 'direction=out', 'folder=inbox&from=needle']) {
    const path = `/v1/inboxes/${inbox}/messages?${filter}`
    const first = (await account.api.get(path)).body
    assert.deepEqual(idsOf(first), [], filter)
    const second = (await account.api.get(`${path}&cursor=${first.next_cursor}`)).body
    assert.deepEqual(idsOf(second), [needle.id], filter)
    assert.equal(second.next_cursor, null)
  }
  const page = (await account.api.get(`/v1/inboxes/${inbox}/messages?from=ann&limit=10`)).body
  assert.equal(page.messages.length, 10)
})

test('deleting a folder of thousands of messages moves them all, and taints of thousands are cleared', async () => {
  const { api } = account
  const inbox = await anInbox(account)
  await manyFiledMessages(account.box, inbox, 2_500)
  await api.post(`/v1/inboxes/${inbox}/folders`, { name: 'Full' })
  await db().transact(system('test'), async tx => {
    await tx.run(sql`update inbox_messages set is_tainted = true, folder_id = (
      select id from folders where inbox_id = ${inbox} and name_key = 'full') where inbox_id = ${inbox}`)
    await tx.run(sql`update threads set is_tainted = true where inbox_id = ${inbox}`)
    await tx.run(
      sql`update folders set total = case name_key when 'full' then 2500 else 0 end where inbox_id = ${inbox}`,
    )
  })

  const deleted = await api.delete(`/v1/inboxes/${inbox}/folders/Full?move_to=trash`)

  assert.deepEqual(deleted.body, { name: 'Full', moved: 2500 })
  const { id } = await db().one<{ id: string }>(sql`select id from threads where inbox_id = ${inbox}`)
  assert.equal((await api.get(`/v1/threads/${id}`)).body.message_count, 0)
  assert.equal((await api.post(`/v1/threads/${id}/clear-taint`)).body.tainted, false)
  const tainted = await db().many(sql`select id from inbox_messages where inbox_id = ${inbox} and is_tainted`)
  assert.deepEqual(tainted, [])
  await assertMailboxCounts(db())
})
