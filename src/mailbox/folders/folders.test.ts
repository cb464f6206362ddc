// Folders: names, counts, renaming, deleting, emptying.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts, manyFiledMessages } from '../../../test/support/mailbox.ts'

let account: TestAccount
let inbox: string

before(async () => {
  account = await anAccount()
  inbox = await anInbox(account)
})

const path = (name = '') => `/v1/inboxes/${inbox}/folders${name && `/${encodeURIComponent(name)}`}`
const create = (name: string) => account.api.post(path(), { name })
const counts = async (): Promise<Record<string, [total: number, unread: number]>> => {
  const { folders } = (await account.api.get(path())).body
  return Object.fromEntries(folders.map(({ name, total, unread }: never) => [name, [total, unread]]))
}

test('a custom folder has a name of 1 to 64 characters, and system folders are listed first', async () => {
  for (const name of ['Zebra', ' Ärger ', 'a/b', '100%', '日本', '👩‍👩‍👧 family', 'x'.repeat(64)]) {
    const created = await create(name)
    assert.equal(created.status, 201, name)
    assert.deepEqual([created.body.name, created.body.system, created.body.total], [name.trim(), false, 0])
  }
  const { folders } = (await account.api.get(path())).body
  const names = folders.map(({ name }: { name: string }) => name)
  assert.deepEqual(names.slice(0, 5), ['inbox', 'sent', 'archive', 'spam', 'trash'])
  assert.equal(names[5], '👩‍👩‍👧 family')
  assert.ok(names.indexOf('Ärger') < names.indexOf('Zebra'))
})

test('a name that is empty, too long, or contains control characters is 400', async () => {
  for (const name of [
    '',
    ' ',
    '\u00a0',
    '\u200b',
    'x'.repeat(65),
    'a\nb',
    'a\u0007',
    'a\u2028b',
    'a\u202eb',
    '.',
    '..',
  ]) {
    assert.equal((await create(name)).status, 400, JSON.stringify(name))
  }
  assert.equal((await account.api.post(path(), { name: 5 })).status, 400)
})

test('a name that exists in any case or spelling, a system name and `all` are 409 folder_exists', async () => {
  await create('Straße')
  for (const name of [
    'STRASSE',
    'straße',
    ' Straße',
    'inbox',
    'INBOX',
    'Sent',
    'ｔｒａｓｈ',
    'tra\u200bsh',
    'all',
    'A\u030arger',
  ]) {
    if (name === 'A\u030arger') await create('Årger')
    const refused = await create(name)
    assert.equal(refused.status, 409, name)
    assert.equal(refused.body.error.code, 'folder_exists')
  }
})

test('a name with a NUL in a path names no folder', async () => {
  const base = `/v1/inboxes/${inbox}/folders`
  assert.equal((await account.api.patch(`${base}/%00`, { name: 'x' })).status, 404)
  assert.equal((await account.api.delete(`${base}/a%00b`)).status, 404)
  assert.equal((await account.api.post(`${base}/trash%00/empty`)).status, 404)
})

test('two who create the same folder at once make one', async () => {
  const both = await Promise.all([create('Race'), create('RACE'), create('race')])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 409, 409])
})

test('a rename keeps the messages, and names in paths are percent-encoded', async () => {
  await create('Old/Name 50%')
  const { id } = await aFiledMessage(account.box, inbox)
  assert.equal((await account.api.post(`/v1/inbox-messages/${id}/move`, { folder: 'old/name 50%' })).status, 200)

  const renamed = await account.api.patch(path('Old/Name 50%'), { name: 'New?Name#' })

  assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
  assert.deepEqual([renamed.body.name, renamed.body.total, renamed.body.unread], ['New?Name#', 1, 1])
  assert.equal((await account.api.get(`/v1/inbox-messages/${id}`)).body.folder, 'New?Name#')
  assert.equal((await account.api.patch(path('Old/Name 50%'), { name: 'x' })).status, 404)
  assert.equal((await account.api.patch(path('New?Name#'), { name: 'NEW?NAME#' })).body.name, 'NEW?NAME#')
  await create('Taken')
  const taken = await account.api.patch(path('new?name#'), { name: 'taken' })
  assert.deepEqual([taken.status, taken.body.error.code], [409, 'folder_exists'])
  assert.equal((await account.api.patch(path('inbox'), { name: 'mine' })).status, 409)
  assert.equal((await account.api.patch(path('Taken'), { name: 'trash' })).body.error.code, 'folder_exists')
})

test('a folder that is not empty is deleted only with a place for its messages', async () => {
  await create('Full')
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await aFiledMessage(account.box, inbox, { read: n === 0 })).id)
  await account.api.post(`/v1/inboxes/${inbox}/batch`, { action: 'move', ids, folder: 'Full' })
  assert.deepEqual((await counts())['Full'], [3, 2])

  const refused = await account.api.delete(path('Full'))
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'folder_not_empty'])
  for (const moveTo of ['nowhere', 'sent', 'full']) {
    assert.equal((await account.api.delete(`${path('Full')}?move_to=${moveTo}`)).status, 400, moveTo)
  }
  assert.equal((await account.api.delete(path('archive'))).status, 409, 'a system folder stays')
  assert.equal((await account.api.delete(path('none'))).status, 404)
  const { archive } = await counts()

  const deleted = await account.api.delete(`${path('Full')}?move_to=Archive`)

  assert.equal(deleted.status, 200)
  assert.deepEqual(deleted.body, { name: 'Full', moved: 3 })
  const after = await counts()
  assert.equal(after['Full'], undefined)
  assert.deepEqual(after['archive'], [archive![0] + 3, archive![1] + 2])
  await create('Empty')
  assert.deepEqual((await account.api.delete(path('Empty'))).body, { name: 'Empty', moved: 0 })
  await assertMailboxCounts(account.box.app.world.db)
})

test('a deletion that is cut short has told the audit log what it moved, and the next call finishes it', async () => {
  const { db } = account.box.app.world
  const large = await anInbox(account)
  await manyFiledMessages(account.box, large, 1_500)
  const folders = `/v1/inboxes/${large}/folders`
  await account.api.post(folders, { name: 'Large' })
  const run = (statement: Sql): Promise<unknown> => db.transact(system('test'), tx => tx.run(statement))
  await run(sql`update inbox_messages set folder_id = (select id from folders where inbox_id = ${large} and name = 'Large')
    where inbox_id = ${large}`)
  await run(sql`update folders set total = case name when 'Large' then 1500 else 0 end where inbox_id = ${large}`)
  await run(sql`create function no_deletion() returns trigger language plpgsql as
    $$ begin if old.name = 'Large' then raise exception 'not now'; end if; return old; end $$`)
  await run(sql`create trigger no_deletion before delete on folders for each row execute function no_deletion()`)
  const remove = () => account.api.delete(`${folders}/Large?move_to=archive`)
  const moved = async (): Promise<number[]> => {
    const rows = await db.many<{ after: { move_to: string; moved: number } }>(sql`
      select after from audit_entries where action = 'folder.delete' and before ->> 'inbox_id' = ${large} order by id`)
    return rows.map(({ after }) => after.moved)
  }

  await assert.rejects(remove())
  assert.deepEqual(await moved(), [1_000])
  await run(sql`drop trigger no_deletion on folders`)
  assert.deepEqual((await remove()).body, { name: 'Large', moved: 500 })
  assert.deepEqual(await moved(), [1_000, 500])
  await assertMailboxCounts(db)
})

test('each account has its share of a round of removals, and a folder that cannot be removed stops no other', async () => {
  const { db, wakeups } = account.box.app.world
  const [many, few] = [await anInbox(account), await anInbox(await anAccount({ box: account.box }))]
  const discard = (inboxId: string, count: number) => sql`
    insert into folders (id, inbox_id, name, name_key, is_system, created_at, discarded_at)
    select gen_random_uuid(), ${inboxId}, 'Bulk ' || n, 'bulk ' || n, false, now(), now() - n * interval '1 minute'
    from generate_series(1, ${count}::int) n`
  const run = (statement: Sql): Promise<unknown> => db.transact(system('test'), tx => tx.run(statement))
  await run(sql`create function no_removal() returns trigger language plpgsql as
    $$ begin if old.name = 'Bulk 60' then raise exception 'not now'; end if; return old; end $$`)
  await run(sql`create trigger no_removal before delete on folders for each row execute function no_removal()`)
  const left = async (): Promise<string[]> =>
    (
      await db.many<{ name: string }>(sql`select name from folders where discarded_at is not null
        and inbox_id in (${many}, ${few})`)
    ).map(({ name }) => name)
  const removal = account.box.app.workers.find(({ name }) => name === 'folder-removal')!
  const round = () => removal.kind === 'due' && removal.run(account.box.app.world, new AbortController().signal)

  await run(discard(many, 60))
  await run(discard(few, 1))
  await round()
  assert.equal((await left()).includes('Bulk 1'), true, 'the youngest of the one with many waits')
  assert.equal(
    (await db.many(sql`select 1 from folders where inbox_id = ${few} and discarded_at is not null`)).length,
    0,
  )
  wakeups.hint('removals')
  await eventually('all others are removed', async () => (await left()).join() === 'Bulk 60')
  await run(sql`drop trigger no_removal on folders`)
  await eventually('and then that one', async () => {
    await round()
    return (await left()).length === 0
  })
})

test('emptying deletes all that is in trash or spam: at once for every reader, behind it for good', async () => {
  const { db } = account.box.app.world
  const stay = await aFiledMessage(account.box, inbox, { folder: 'inbox' })
  const inThread = await aFiledMessage(account.box, inbox, { folder: 'spam', threadId: stay.threadId })
  const alone = await aFiledMessage(account.box, inbox, { folder: 'spam', blocked: true })
  const trashed = await aFiledMessage(account.box, inbox, { folder: 'trash' })
  assert.equal((await account.api.get(`/v1/threads/${stay.threadId}`)).body.message_count, 2)

  assert.deepEqual((await account.api.post(`${path('spam')}/empty`)).body, { deleted: 2 })
  assert.deepEqual((await account.api.post(`${path('trash')}/empty`)).body, { deleted: 1 })

  const after = await counts()
  assert.deepEqual(
    [after['spam'], after['trash']],
    [
      [0, 0],
      [0, 0],
    ],
  )
  for (const { id } of [inThread, alone, trashed]) {
    assert.equal((await account.api.get(`/v1/inbox-messages/${id}`)).status, 404)
  }
  assert.equal((await account.api.get(`/v1/threads/${stay.threadId}`)).body.message_count, 1)
  assert.equal((await account.api.get(`/v1/threads/${alone.threadId}`)).status, 404)
  assert.equal((await account.api.get(`/v1/threads/${trashed.threadId}`)).status, 404)
  const { messages } = (await account.api.get(`/v1/threads/${stay.threadId}/messages`)).body
  assert.deepEqual(
    messages.map(({ id }: { id: string }) => id),
    [stay.id],
  )
  const all = (await account.api.get(`/v1/inboxes/${inbox}/messages?folder=all`)).body
  assert.ok(!all.messages.some(({ id }: { id: string }) => [inThread.id, alone.id, trashed.id].includes(id)))
  assert.deepEqual(all.hidden, { spam: 0, trash: 0, blocked: 0 })
  const batch = { action: 'read', ids: [alone.id, trashed.id] }
  assert.equal((await account.api.post(`/v1/inboxes/${inbox}/batch`, batch)).body.missing, 2)
  await eventually('removed for good', async () => {
    const left = await db.one<{ n: number }>(sql`
      select (select count(*)::int from inbox_messages where id = any(${[inThread.id, alone.id, trashed.id]}::uuid[]))
        + (select count(*)::int from folders where inbox_id = ${inbox} and discarded_at is not null)
        + (select count(*)::int from mail_sources where id = any(${[inThread.sourceId, alone.sourceId]}::uuid[]))
        + (select count(*)::int from threads where id = any(${[alone.threadId, trashed.threadId]}::uuid[])) as n`)
    return left.n === 0
  })
  const events = await db.many<{ type: string }>(sql`
    select type from events where inbox_id = ${inbox} and data ->> 'message_id' = ${alone.id}`)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['message.deleted'],
  )
  await assertMailboxCounts(db)
})

test('while the removal of an emptied folder is under way no reader sees what it held', async () => {
  const onHold = await anAccount()
  const { db } = onHold.box.app.world
  const id = await anInbox(onHold)
  const stay = await aFiledMessage(onHold.box, id)
  await aFiledMessage(onHold.box, id, { folder: 'spam', threadId: stay.threadId })
  const alone = await aFiledMessage(onHold.box, id, { folder: 'spam' })
  // A hold keeps the worker from removing anything.
  await onHold.api.patch('/v1/account', { legal_hold: true })
  await db.transact(system('test'), async tx => {
    await tx.run(sql`update folders set discarded_at = ${tx.now} where inbox_id = ${id} and name_key = 'spam'`)
    await tx.run(sql`insert into folders (id, inbox_id, name, name_key, is_system, created_at)
      values (gen_random_uuid(), ${id}, 'spam', 'spam', true, ${tx.now})`)
  })

  assert.equal((await onHold.api.get(`/v1/inbox-messages/${alone.id}`)).status, 404)
  assert.equal((await onHold.api.get(`/v1/threads/${alone.threadId}`)).status, 404)
  const thread = (await onHold.api.get(`/v1/threads/${stay.threadId}`)).body
  assert.deepEqual([thread.message_count, thread.unread_count], [1, 1])
  const { threads, hidden } = (await onHold.api.get(`/v1/inboxes/${id}/threads`)).body
  assert.deepEqual(threads, [thread])
  assert.deepEqual(hidden, { spam: 0, trash: 0, blocked: 0 })
  for (const query of ['', '?folder=all', '?folder=spam', '?from=ann', '?folder=all&direction=in']) {
    const { messages } = (await onHold.api.get(`/v1/inboxes/${id}/messages${query}`)).body
    const expected = query === '?folder=spam' ? [] : [stay.id]
    assert.deepEqual(
      messages.map((each: { id: string }) => each.id),
      expected,
      query,
    )
  }
  await assertMailboxCounts(db)
})

test('only trash and spam can be emptied, an empty one answers 0, and a legal hold refuses', async () => {
  for (const name of ['inbox', 'sent', 'archive', 'Zebra']) {
    assert.equal((await account.api.post(`${path(name)}/empty`)).status, 400, name)
  }
  assert.equal((await account.api.post(`${path('nothing')}/empty`)).status, 404)
  assert.deepEqual((await account.api.post(`${path('TRASH')}/empty`)).body, { deleted: 0 })
  const onHold = await anAccount()
  const heldInbox = await anInbox(onHold)
  await aFiledMessage(onHold.box, heldInbox, { folder: 'trash' })
  await onHold.api.patch('/v1/account', { legal_hold: true })
  const refused = await onHold.api.post(`/v1/inboxes/${heldInbox}/folders/trash/empty`)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
})

test('an inbox has at most 500 folders of its own', async () => {
  const { db } = account.box.app.world
  const many = await anInbox(account)
  await db.transact(system('test'), tx =>
    tx.run(sql`insert into folders (id, inbox_id, name, name_key, created_at)
      select gen_random_uuid(), ${many}, 'f' || n, 'f' || n, ${tx.now} from generate_series(1, 499) n`),
  )
  const tries = await Promise.all(
    ['a', 'b', 'c'].map(name => account.api.post(`/v1/inboxes/${many}/folders`, { name })),
  )
  assert.deepEqual(tries.map(({ status }) => status).toSorted(), [201, 409, 409])
})
