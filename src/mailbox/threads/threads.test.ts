// Threads of an inbox: lists, single threads, their messages, labels, taint.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts, manyFiledMessages } from '../../../test/support/mailbox.ts'
import { mergeThreads } from './join-queries.ts'

let account: TestAccount

before(async () => {
  account = await anAccount()
})

const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id)
const db = () => account.box.app.world.db

test('threads are listed most recently active first, each page once, without those in trash and spam alone', async () => {
  const inbox = await anInbox(account)
  const { clock } = account.box
  const threads: string[] = []
  for (let n = 0; n < 4; n++) {
    threads.push((await aFiledMessage(account.box, inbox)).threadId)
    clock.advance(1000)
  }
  await aFiledMessage(account.box, inbox, { folder: 'spam', blocked: true })
  await aFiledMessage(account.box, inbox, { folder: 'trash' })
  const [a, b, c, d] = threads
  await aFiledMessage(account.box, inbox, { threadId: b! })
  const list = async (query = '') => (await account.api.get(`/v1/inboxes/${inbox}/threads${query}`)).body

  assert.deepEqual(idsOf((await list()).threads), [b, d, c, a])
  assert.deepEqual((await list()).hidden, { spam: 1, trash: 1, blocked: 1 })
  const first = await list('?limit=3')
  const second = await list(`?limit=3&cursor=${first.next_cursor}`)
  assert.deepEqual(idsOf([...first.threads, ...second.threads]), [b, d, c, a])
  assert.equal(second.next_cursor, null)
  assert.equal((await account.api.get(`/v1/inboxes/${inbox}/threads?cursor=nonsense`)).status, 400)
})

test('threads of one moment are told apart by their ids, so that pages neither skip nor repeat', async () => {
  const inbox = await anInbox(account)
  const threads: string[] = []
  for (let n = 0; n < 5; n++) threads.unshift((await aFiledMessage(account.box, inbox)).threadId)
  await db().transact(system('test'), tx =>
    tx.run(sql`update threads set last_message_at = ${tx.now} where inbox_id = ${inbox}`),
  )
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const path: string = `/v1/inboxes/${inbox}/threads?limit=2${cursor && `&cursor=${cursor}`}`
    const { body } = await account.api.get(path)
    for (const id of idsOf(body.threads)) seen.push(id)
    cursor = body.next_cursor
  }
  assert.deepEqual(seen, threads)
})

test('a thread counts its messages outside trash, and lists them oldest first', async () => {
  const inbox = await anInbox(account)
  const first = await aFiledMessage(account.box, inbox, { subject: 'Offer' })
  const { threadId } = first
  const second = await aFiledMessage(account.box, inbox, { threadId, read: true })
  const third = await aFiledMessage(account.box, inbox, { threadId, folder: 'spam', blocked: true })
  const path = `/v1/threads/${threadId}`

  const { body } = await account.api.get(path)
  assert.deepEqual(
    [body.id, body.inbox_id, body.subject, body.participants, body.message_count, body.unread_count, body.labels],
    [threadId, inbox, 'Offer', ['ann@example.com'], 3, 2, []],
  )
  assert.deepEqual(idsOf((await account.api.get(`${path}/messages`)).body.messages), [first.id, second.id, third.id])
  const page = (await account.api.get(`${path}/messages?limit=2`)).body
  const next = (await account.api.get(`${path}/messages?limit=2&cursor=${page.next_cursor}`)).body
  assert.deepEqual(idsOf([...page.messages, ...next.messages]), [first.id, second.id, third.id])

  await account.api.delete(`/v1/inbox-messages/${third.id}`)
  await account.api.delete(`/v1/inbox-messages/${second.id}`)

  const after = (await account.api.get(`${path}/messages`)).body
  assert.deepEqual(idsOf(after.messages), [first.id])
  assert.deepEqual(after.hidden, { spam: 0, trash: 2, blocked: 1 })
  assert.equal((await account.api.get(path)).body.message_count, 1)
  await account.api.delete(`/v1/inbox-messages/${first.id}`)
  const { status, body: empty } = await account.api.get(path)
  assert.deepEqual([status, empty.message_count], [200, 0], 'it is there while its messages are in trash')
  await assertMailboxCounts(db())
})

test('the id of a thread that was merged answers the thread that survived', async () => {
  const inbox = await anInbox(account)
  const survivor = await aFiledMessage(account.box, inbox)
  const merged = await aFiledMessage(account.box, inbox)
  await aFiledMessage(account.box, inbox, { threadId: merged.threadId })
  const path = `/v1/threads/${merged.threadId}`
  const { body: first } = await account.api.get(`${path}/messages?limit=1`)
  await db().transact(system('test'), async tx => {
    await tx.run(sql`update inbox_messages set thread_id = ${survivor.threadId} where thread_id = ${merged.threadId}`)
    await tx.run(sql`update threads set merged_into = ${survivor.threadId}, message_count = 0, unread_count = 0,
      visible_count = 0 where id = ${merged.threadId}`)
    await tx.run(sql`update threads set message_count = 3, unread_count = 3, visible_count = 3
      where id = ${survivor.threadId}`)
  })

  assert.equal((await account.api.get(path)).body.id, survivor.threadId)
  const { body: all } = await account.api.get(`${path}/messages`)
  assert.equal(all.messages.length, 3)
  const { body: rest } = await account.api.get(`${path}/messages?cursor=${first.next_cursor}`)
  assert.deepEqual(rest.messages, all.messages.slice(2), 'a page that was begun before goes on')
  assert.deepEqual((await account.api.put(`${path}/labels`, { labels: ['x'] })).body.id, survivor.threadId)
  assert.deepEqual(idsOf((await account.api.get(`/v1/inboxes/${inbox}/threads`)).body.threads), [survivor.threadId])
  const ids = idsOf(all.messages)
  const batch = { action: 'delete', ids, permanent: true }
  assert.equal((await account.api.post(`/v1/inboxes/${inbox}/batch`, batch)).body.deleted, 3)
  assert.deepEqual(await db().many(sql`select id from threads where inbox_id = ${inbox}`), [], 'both rows are gone')
})

test('threads that are merged again and again keep at most 50 labels and 20 reasons', async () => {
  const inbox = await anInbox(account)
  const { threadId: into } = await aFiledMessage(account.box, inbox)
  await account.api.put(`/v1/threads/${into}/labels`, { labels: ['own'] })
  for (let n = 0; n < 3; n++) {
    const { threadId: from } = await aFiledMessage(account.box, inbox)
    const labels = Array.from({ length: 30 }, (_, m) => `label ${n} ${m}`)
    const reasons = Array.from({ length: 9 }, (_, m) => ({ kind: `kind ${n} ${m}` }))
    await db().transact(system('test'), async tx => {
      await tx.run(sql`update threads set labels = ${labels}, is_tainted = true, taint_reasons = ${JSON.stringify(reasons)}
        where id = ${from}`)
      await mergeThreads(tx, [{ from, into }])
    })
  }
  const { labels, taint_reasons: reasons } = (await account.api.get(`/v1/threads/${into}`)).body
  assert.deepEqual([labels.length, labels[0], new Set(labels).size], [50, 'own', 50])
  assert.deepEqual([reasons.length, reasons[0], reasons[19]], [20, { kind: 'kind 0 0' }, { kind: 'kind 2 1' }])
  await assertMailboxCounts(db())
})

test('labels of a thread are its own, and change the stream', async () => {
  const inbox = await anInbox(account)
  const { id, threadId } = await aFiledMessage(account.box, inbox)
  for (let n = 0; n < 2; n++) {
    const { status, body } = await account.api.put(`/v1/threads/${threadId}/labels`, { labels: ['b', ' a', 'b'] })
    assert.deepEqual([status, body.labels], [200, ['b', 'a']])
  }
  assert.deepEqual((await account.api.get(`/v1/threads/${threadId}`)).body.labels, ['b', 'a'])
  assert.deepEqual((await account.api.get(`/v1/inbox-messages/${id}`)).body.labels, [])
  const events = await db().many(sql`select type, data from events where inbox_id = ${inbox}`)
  assert.deepEqual(events, [
    { type: 'thread.updated', data: { thread_id: threadId, labels: ['b', 'a'], tainted: false } },
  ])
  assert.equal((await account.api.put(`/v1/threads/${threadId}/labels`, { labels: [''] })).status, 400)
})

test('a person clears the taint of a thread and of its messages; an agent with its own key cannot', async () => {
  const inbox = await anInbox(account)
  const first = await aFiledMessage(account.box, inbox, { tainted: true })
  await aFiledMessage(account.box, inbox, { threadId: first.threadId, tainted: true })
  const path = `/v1/threads/${first.threadId}`
  assert.deepEqual((await account.api.get(path)).body.tainted, true)
  const agent = await account.withKey({ scopes: ['send', 'read'], inbox_id: inbox })
  assert.equal((await agent.post(`${path}/clear-taint`)).status, 403)

  const cleared = await account.api.post(`${path}/clear-taint`)

  assert.deepEqual([cleared.status, cleared.body.tainted, cleared.body.taint_reasons], [200, false, []])
  assert.deepEqual((await account.api.get(path)).body, cleared.body)
  const { messages } = (await account.api.get(`${path}/messages`)).body
  assert.deepEqual(
    messages.map((each: { tainted: boolean }) => each.tainted),
    [false, false],
  )
  const audits = () => db().many(sql`select 1 from audit_entries where target_id = ${first.threadId}`)
  assert.equal((await audits()).length, 1)
  assert.equal((await account.api.post(`${path}/clear-taint`)).status, 200)
  assert.equal((await audits()).length, 1, 'what is clear stays clear')
})

test('clearing that is cut short has told the audit log, and the next call finishes it', async () => {
  const inbox = await anInbox(account)
  await manyFiledMessages(account.box, inbox, 2_500)
  const run = (statement: Sql): Promise<unknown> => db().transact(system('test'), tx => tx.run(statement))
  await run(sql`update inbox_messages set is_tainted = true where inbox_id = ${inbox}`)
  await run(
    sql`update threads set is_tainted = true, taint_reasons = '[{"kind":"instructions"}]' where inbox_id = ${inbox}`,
  )
  await run(sql`create function no_clearing() returns trigger language plpgsql as
    $$ begin raise exception 'not now'; end $$`)
  await run(
    sql`create trigger no_clearing before update of is_tainted on threads for each row execute function no_clearing()`,
  )
  const { id } = await db().one<{ id: string }>(sql`select id from threads where inbox_id = ${inbox}`)
  const clear = () => account.api.post(`/v1/threads/${id}/clear-taint`)
  const entries = () =>
    db().many(sql`select before, after from audit_entries where target_id = ${id} order by id`) as Promise<object[]>
  const before = { tainted: true, taint_reasons: [{ kind: 'instructions' }] }

  await assert.rejects(clear())
  const first = { before, after: { tainted: true, messages_cleared: 2_000 } }
  assert.deepEqual(await entries(), [first])
  await run(sql`drop trigger no_clearing on threads`)
  assert.deepEqual(
    [(await clear()).body.tainted, await entries()],
    [false, [first, { before, after: { tainted: false, messages_cleared: 500 } }]],
  )
  assert.equal((await clear()).status, 200)
  assert.equal((await entries()).length, 2)
})
