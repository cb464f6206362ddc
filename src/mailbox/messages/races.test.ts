// Many change one mailbox at once. Whatever the order, every call is answered, and the kept counts equal a recount.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'

let account: TestAccount

before(async () => {
  account = await anAccount()
})

const db = () => account.box.app.world.db
const pick = <T>(items: readonly T[]): T => items[randomInt(items.length)]!

test('parallel moves, flags, deletes, renames, empties and arrivals leave exact counts', async () => {
  const { api, box } = account
  const inbox = await anInbox(account)
  const ids: string[] = []
  const threads: string[] = []
  for (let n = 0; n < 30; n++) {
    const known = n % 4 === 0 ? undefined : threads.at(-1)
    const folder = pick(['inbox', 'archive', 'spam', 'trash'] as const)
    const filed = await aFiledMessage(box, inbox, { folder, blocked: n % 5 === 0, ...(known && { threadId: known }) })
    ids.push(filed.id)
    threads.push(filed.threadId)
  }
  await api.post(`/v1/inboxes/${inbox}/folders`, { name: 'Work 0' })
  const some = () => Array.from({ length: 8 }, () => pick(ids))
  const batch = (body: object) => api.post(`/v1/inboxes/${inbox}/batch`, body)
  let names = 0
  const acts: (() => Promise<{ status: number }>)[] = [
    () => batch({ action: 'move', ids: some(), folder: pick(['inbox', 'archive', 'spam', 'trash', `Work ${names}`]) }),
    () => batch({ action: pick(['read', 'unread']), ids: some() }),
    () => batch({ action: 'delete', ids: some() }),
    () => api.delete(`/v1/inbox-messages/${pick(ids)}`),
    () => api.post(`/v1/inbox-messages/${pick(ids)}/move`, { folder: 'archive' }),
    () => api.put(`/v1/inbox-messages/${pick(ids)}/labels`, { labels: [pick(['a', 'b', 'c'])] }),
    () => api.patch(`/v1/inboxes/${inbox}/folders/Work%20${names}`, { name: `Work ${++names}` }),
    () => api.post(`/v1/inboxes/${inbox}/folders/${pick(['trash', 'spam'])}/empty`),
    async () => {
      ids.push((await aFiledMessage(box, inbox)).id)
      return { status: 200 }
    },
  ]

  const statuses: { status: number }[] = []
  for (let wave = 0; wave < 4; wave++) {
    for (const reply of await Promise.all(Array.from({ length: 24 }, () => pick(acts)()))) statuses.push(reply)
  }

  // 503: on a busy machine a call may wait too long for its turn; what it asked for is then undone as a whole.
  for (const { status } of statuses) assert.ok([200, 400, 404, 503].includes(status), String(status))
  assert.ok(statuses.filter(({ status }) => status === 200).length > 30)
  await assertMailboxCounts(db())
  const listed = (await api.get(`/v1/inboxes/${inbox}/folders`)).body.folders
  for (const { name, total, unread } of listed) {
    const query = `folder=${encodeURIComponent(name)}&limit=500`
    const all = (await api.get(`/v1/inboxes/${inbox}/messages?${query}`)).body.messages
    const open = (await api.get(`/v1/inboxes/${inbox}/messages?${query}&unread=true`)).body.messages
    assert.deepEqual([all.length, open.length], [total, unread], name)
  }
  await eventually(
    'the emptied folders are removed',
    async () =>
      (await db().maybe(
        sql`select 1 as found from folders where inbox_id = ${inbox} and discarded_at is not null limit 1`,
      )) === null,
  )
  await assertMailboxCounts(db())
  const labels = await db().many(sql`
    select m.id from inbox_messages m where m.inbox_id = ${inbox} and m.labels is distinct from
      coalesce((select array_agg(label) from message_labels where message_id = m.id), '{}')`)
  assert.deepEqual(labels, [], 'labels are found by what the message has')
})

test('two who delete a folder, one who fills it, and one who renames it agree in the end', async () => {
  const { api, box } = account
  const inbox = await anInbox(account)
  const ids: string[] = []
  for (let n = 0; n < 12; n++) ids.push((await aFiledMessage(box, inbox)).id)
  await api.post(`/v1/inboxes/${inbox}/folders`, { name: 'Gone' })
  await api.post(`/v1/inboxes/${inbox}/batch`, { action: 'move', ids: ids.slice(6), folder: 'Gone' })

  const [one, two, filled] = await Promise.all([
    api.delete(`/v1/inboxes/${inbox}/folders/Gone?move_to=archive`),
    api.delete(`/v1/inboxes/${inbox}/folders/Gone?move_to=spam`),
    api.post(`/v1/inboxes/${inbox}/batch`, { action: 'move', ids: ids.slice(0, 6), folder: 'Gone' }),
  ])

  assert.deepEqual([one.status, two.status].toSorted(), [200, 404])
  assert.ok([200, 400].includes(filled.status))
  const { messages } = (await api.get(`/v1/inboxes/${inbox}/messages?folder=all`)).body
  assert.equal(messages.length, 12, 'no message is lost')
  await assertMailboxCounts(db())
})

test('the last two messages of a source, removed at once, take it along; an arrival keeps it', async () => {
  const { api, box } = account
  const [left, right] = [await anInbox(account), await anInbox(account)]
  const twins: { id: string; sourceId: string }[] = []
  for (let n = 0; n < 8; n++) {
    const filed = await aFiledMessage(box, left)
    twins.push(filed, await aFiledMessage(box, right, { sourceId: filed.sourceId }))
  }
  const awaited = await aFiledMessage(box, left)
  await db().transact(system('test'), tx =>
    tx.run(sql`insert into arrivals (id, account_id, source_id, size, inbox_ids, mail_from, client_ip, helo, received_at,
        due_at)
      values (gen_random_uuid(), ${account.id}, ${awaited.sourceId}, 1, ${[right]}, '', '192.0.2.1', 'x', ${tx.now},
        ${new Date(tx.now.getTime() + 86_400_000)})`),
  )

  await Promise.all([...twins, awaited].map(({ id }) => api.delete(`/v1/inbox-messages/${id}?permanent=true`)))

  const exists = async (id: string) =>
    (await db().maybe(sql`select 1 as found from mail_sources where id = ${id}`)) !== null
  for (const { sourceId } of twins) await eventually('the shared source is gone', async () => !(await exists(sourceId)))
  await eventually(
    'all were looked at',
    async () => (await db().maybe(sql`select 1 as found from source_removals limit 1`)) === null,
  )
  assert.equal(await exists(awaited.sourceId), true)
})

test('a message that is moved all the time is in every list and search that shows both folders, and in none as if in a third', async () => {
  const { api, box } = account
  const inbox = await anInbox(account)
  const { id } = await aFiledMessage(box, inbox)
  const views = ['messages?folder=all', 'messages', 'messages?unread=true', 'messages?direction=in', 'search?q=in:all']
  let isOver = false
  const moving = (async () => {
    for (let n = 0; !isOver; n++) {
      const folder = n % 2 === 0 ? 'archive' : 'inbox'
      assert.equal((await api.post(`/v1/inbox-messages/${id}/move`, { folder })).status, 200)
    }
  })()

  const absent: string[] = []
  for (let n = 0; n < 40; n++) {
    const pages = await Promise.all(views.map(view => api.get(`/v1/inboxes/${inbox}/${view}`)))
    pages.forEach(({ body }, at) => body.messages.length === 1 || absent.push(views[at]!))
    const { body } = await api.get(`/v1/inboxes/${inbox}/search?q=in:inbox`)
    for (const { folder } of body.messages) assert.equal(folder, 'inbox')
  }
  isOver = true
  await moving

  assert.deepEqual(absent, [])
})

test('a source stays while the account that removed its message is under legal hold', async () => {
  const onHold = await anAccount()
  const inbox = await anInbox(onHold)
  const filed = await aFiledMessage(onHold.box, inbox)
  await onHold.api.patch('/v1/account', { legal_hold: true })
  // As if the message had been removed just before the hold.
  await db().transact(system('test'), async tx => {
    await tx.run(sql`update inbox_messages set source_id = null where id = ${filed.id}`)
    await tx.run(sql`insert into source_removals values (${filed.sourceId}, ${onHold.id}, ${tx.now})`)
  })
  const exists = async () =>
    (await db().maybe(sql`select 1 as found from mail_sources where id = ${filed.sourceId}`)) !== null
  const due = () =>
    db().one<{ due_at: Date }>(sql`select due_at from source_removals where source_id = ${filed.sourceId}`)

  onHold.box.app.world.wakeups.hint('removals')
  await eventually('it was looked at', async () => (await due()).due_at > onHold.box.clock.now())
  assert.equal(await exists(), true)

  await onHold.api.patch('/v1/account', { legal_hold: false })
  onHold.box.clock.advance(3_600_001)
  onHold.box.app.world.wakeups.hint('removals')
  await eventually('it is gone when the hold is over', async () => !(await exists()))
})

test('a message is removed for good while the words of its attachments are written: neither ends the other', async () => {
  const inbox = await anInbox(account)
  const { id } = await aFiledMessage(account.box, inbox)
  await db().transact(system('test'), tx =>
    tx.run(sql`insert into message_words (message_id, inbox_id, words) values (${id}, ${inbox}, 'word')`),
  )
  const removal = await db().transact(system('test'), async tx => {
    // As the worker does that has read the attachments.
    await tx.run(sql`select from inbox_messages where id = ${id} for key share`)
    const removing = account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)
    await eventually('the removal waits', () =>
      db().maybe(sql`
        select 1 as waits from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
    )
    const words = await tx.run(sql`update message_words set words = words where message_id = ${id}`)
    assert.equal(words, 1)
    const { deadlocks } = await db().one<{ deadlocks: number }>(sql`
      select deadlocks::int from pg_stat_database where datname = current_database()`)
    assert.equal(deadlocks, 0)
    return { removing }
  })
  assert.equal((await removal.removing).status, 200)
  const left = sql`select count(*)::int as words from message_words where message_id = ${id}`
  assert.equal((await db().one<{ words: number }>(left)).words, 0)
})
