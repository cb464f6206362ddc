// Search in an inbox, over HTTP and a real database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { insertWords } from './insert-words.ts'
import { vectorOf, weighted } from './vector.ts'
import { aMailbox, type TestMailbox } from './mailbox.fixture.ts'
import { listAttachmentTexts } from './queries.ts'

const DAY_MS = 86_400_000

interface Site {
  account: TestAccount
  mailbox: TestMailbox
  search(q: string, more?: Record<string, string>): Promise<{ status: number; body: any }> // oxlint-disable-line
  /** The subjects that were found, in their order. */
  subjects(q: string, more?: Record<string, string>): Promise<string[]>
}

async function aSite(): Promise<Site> {
  const account = await anAccount()
  const mailbox = await aMailbox(account)
  const search: Site['search'] = (q, more = {}) =>
    account.api.get(`/v1/inboxes/${mailbox.inboxId}/search?${new URLSearchParams({ q, ...more }).toString()}`)
  const subjects: Site['subjects'] = async (q, more) => {
    const { status, body } = await search(q, more)
    assert.equal(status, 200, JSON.stringify(body))
    return body.messages.map((message: { subject: string }) => message.subject)
  }
  return { account, mailbox, search, subjects }
}

test('messages are found by subject, text, addresses, attachment names and attachment text', async () => {
  const { mailbox, subjects } = await aSite()
  await mailbox.file({ subject: 'Quarterly', text: 'Nothing else' })
  await mailbox.file({ subject: 'One', text: 'The quarterly figures' })
  await mailbox.file({ subject: 'Two', from: 'Quarterly Desk <desk@example.org>' })
  await mailbox.file({ subject: 'Three', attachments: [{ filename: 'quarterly-2026.pdf', content: Buffer.from('x') }] })
  await mailbox.file({
    subject: 'Four',
    attachments: [{ filename: 'a.txt', content: Buffer.from('x'), text: 'about the quarterly meeting' }],
  })
  await mailbox.file({ subject: 'Five', text: 'yearly' })
  // Subject first, then addresses and names, then texts; within each the newest.
  assert.deepEqual(await subjects('quarterly'), ['Quarterly', 'Three', 'Two', 'Four', 'One'])
  assert.deepEqual(await subjects('QUARTÉRLY'), await subjects('quarterly'))
  assert.deepEqual(await subjects('desk@example.org'), ['Two'])
})

test('the text of a file is not quoted once it has blocked its mail, nor before it is judged', async () => {
  const { mailbox, account } = await aSite()
  const { db } = account.box.app.world
  const file = { filename: 'a.txt', content: Buffer.from('x'), text: 'about the zeppelin' }
  const { id } = await mailbox.file({ subject: 'found', attachments: [file] })
  const found = await db.one<{ id: string; source_id: string; is_blocked: boolean }>(
    sql`select id, source_id, is_blocked from inbox_messages where id = ${id}`,
  )
  const quoted = async () => (await listAttachmentTexts(db.lists, [found])).map(({ text }) => text)
  const change = (statement: Sql) => db.transact(system('test'), tx => tx.run(statement))
  assert.deepEqual(await quoted(), ['about the zeppelin'])
  await change(sql`update source_attachments set text_state = 'pending' where source_id = ${found.source_id}`)
  assert.deepEqual(await quoted(), [])
  await change(sql`update source_attachments set text_state = 'done' where source_id = ${found.source_id}`)
  await change(sql`update inbox_messages set is_blocked = true where id = ${id}`)
  assert.deepEqual(await quoted(), [])
})

test('phrases, words left out, alternatives, and the last word by its beginning', async () => {
  const { mailbox, subjects } = await aSite()
  await mailbox.file({ subject: 'A', text: 'the red house by the lake' })
  await mailbox.file({ subject: 'B', text: 'the house is red' })
  await mailbox.file({ subject: 'C', text: 'a blue houseboat' })
  assert.deepEqual(await subjects('"red house"'), ['A'])
  assert.deepEqual(await subjects('house red'), ['B', 'A'])
  assert.deepEqual(await subjects('hous'), ['C', 'B', 'A'])
  assert.deepEqual(await subjects('house blue'), [])
  assert.deepEqual(await subjects('house -lake'), ['B'])
  assert.deepEqual(await subjects('lake or blue'), ['C', 'A'])
  assert.deepEqual(await subjects('red -"red house"'), ['B'])
  assert.deepEqual(await subjects('-red'), ['C'])
  assert.deepEqual(await subjects('-"red house"'), ['C', 'B'])
  assert.deepEqual(await subjects('blue or -"red house"'), ['C', 'B'])
})

test('mail in scripts without spaces is found by what stands inside it', async () => {
  const { mailbox, subjects, search } = await aSite()
  await mailbox.file({ subject: '会議', text: '新しい検索エンジンの打ち合わせ' })
  await mailbox.file({ subject: '请款单', text: '您好，附件是十一月的发票。' })
  assert.deepEqual(await subjects('検索エンジン'), ['会議'])
  assert.deepEqual(await subjects('エンジン検索'), [])
  assert.deepEqual(await subjects('发票'), ['请款单'])
  assert.deepEqual(await subjects('票'), ['请款单'])
  const { body } = await search('検索')
  assert.equal(body.messages[0].snippet, '新しい<mark>検索</mark>エンジンの打ち合わせ')
})

test('operators narrow a search', async () => {
  const { mailbox, subjects } = await aSite()
  const old = new Date('2024-05-06T12:00:00Z')
  await mailbox.file({ subject: 'plan old', from: 'Carl <carl@x.test>', receivedAt: old })
  await mailbox.file({ subject: 'plan', from: 'Ann <ann@x.test>', to: ['carl@x.test'], labels: ['To do'] })
  await mailbox.file({ subject: 'files', text: 'plan', attachments: [{ filename: 'a', content: Buffer.from('a') }] })
  await mailbox.file({ subject: 'kept', text: 'plan', folder: 'Projekte/Süd' })
  await mailbox.file({ subject: 'gone', text: 'plan', folder: 'trash' })
  assert.deepEqual(await subjects('plan from:carl'), ['plan old'])
  assert.deepEqual(await subjects('plan -from:carl@x.test to:carl'), ['plan'])
  assert.deepEqual(await subjects('subject:plan'), ['plan', 'plan old'])
  assert.deepEqual(await subjects('plan has:attachment'), ['files'])
  assert.deepEqual(await subjects('has:attachment'), ['files'])
  assert.deepEqual(await subjects('plan before:2024-05-07'), ['plan old'])
  assert.deepEqual(await subjects('plan after:2024-05-06 before:2024-05-07'), ['plan old'])
  assert.deepEqual(await subjects('plan -after:2024-05-07'), ['plan old'])
  assert.deepEqual(await subjects('label:"To do"'), ['plan'])
  await mailbox.file({ subject: 'composed', labels: ['Caf\u00e9'] })
  assert.deepEqual(await subjects('label:Cafe\u0301'), ['composed'], 'written in two characters')
  assert.deepEqual(await subjects('plan label:other'), [])
  assert.deepEqual(await subjects('has:attachment or label:"To do"'), ['files', 'plan'])
  assert.deepEqual(await subjects('plan in:"projekte/SÜD"'), ['kept'])
  assert.deepEqual(await subjects('plan in:trash'), ['gone'])
  assert.deepEqual(await subjects('plan in:trash or in:Projekte/Süd'), ['gone', 'kept'])
  assert.deepEqual(await subjects('plan in:trash or has:attachment'), ['gone', 'files'])
  assert.deepEqual(await subjects('plan in:projekte/süd or has:attachment'), ['kept', 'files'])
  assert.deepEqual(await subjects('plan before:2024-06 or has:attachment'), ['plan old', 'files'])
  assert.deepEqual(await subjects('plan -after:2024-06 or label:"To do"'), ['plan', 'plan old'])
  assert.deepEqual(await subjects('before:2024-06 or after:2030'), ['plan old'])
  assert.deepEqual(await subjects('plan -in:inbox'), ['kept'])
  assert.deepEqual(await subjects('plan in:all after:2025'), ['plan', 'gone', 'kept', 'files'])
})

test('the folder is everything but trash, all, or one; what was left out is counted', async () => {
  const { mailbox, search, subjects } = await aSite()
  for (const folder of ['inbox', 'spam', 'trash', 'trash', 'mine'])
    await mailbox.file({ subject: folder, text: 'budget', folder })
  await mailbox.file({ subject: 'other', text: 'nothing', folder: 'trash' })
  assert.deepEqual(await subjects('budget'), ['mine', 'spam', 'inbox'])
  assert.deepEqual((await search('budget')).body.hidden, { spam: 0, trash: 2, blocked: 0 })
  assert.deepEqual((await search('"budget"')).body.hidden.trash, 2)
  assert.deepEqual((await search('-nothing')).body.hidden.trash, 2)
  assert.deepEqual(await subjects('budget', { folder: 'all' }), ['mine', 'trash', 'trash', 'spam', 'inbox'])
  assert.deepEqual((await search('budget', { folder: 'all' })).body.hidden.trash, 0)
  assert.deepEqual(await subjects('budget', { folder: 'MINE' }), ['mine'])
  await mailbox.file({ subject: 'long', text: 'budget', folder: 'é'.repeat(64) })
  assert.deepEqual(await subjects('budget', { folder: 'e\u0301'.repeat(64) }), ['long'], 'written in two characters')
  assert.deepEqual(await subjects('budget in:spam', { folder: 'mine' }), [])
  const unknown = await search('budget', { folder: 'nowhere' })
  assert.deepEqual([unknown.status, unknown.body.error.message], [400, 'folder names no folder of this inbox.'])
  const operator = await search('budget in:nowhere')
  assert.deepEqual([operator.status, operator.body.error.message], [400, 'in: in q names no folder of this inbox.'])
  assert.equal((await subjects('budget', { folder: 'all', limit: '2' })).length, 2)
})

test('what was left out because it is in trash says how much of it the shield has blocked', async () => {
  const { account, mailbox, search } = await aSite()
  const { id } = await mailbox.file({ subject: 'bad', text: 'budget', folder: 'trash' })
  await mailbox.file({ subject: 'good', text: 'budget', folder: 'trash' })
  await mailbox.file({ subject: 'seen', text: 'budget' })
  await account.box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update inbox_messages set is_blocked = true where id = ${id}`),
  )
  for (const q of ['budget', '"budget"', '-nothing', 'bud'])
    assert.deepEqual((await search(q)).body.hidden, { spam: 0, trash: 2, blocked: 1 }, q)
})

test('mail with very many attachments is found with the rest, and no match is dropped', async () => {
  const { account, mailbox, search, subjects } = await aSite()
  for (let n = 0; n < 3; n++) {
    await mailbox.file({ subject: `plain ${n}`, text: 'budget' })
    const { sourceId } = await mailbox.file({
      subject: `many ${n}`,
      text: 'budget',
      attachments: [{ filename: 'a', content: Buffer.from('a'), text: 'a' }],
    })
    await account.box.app.world.db.transact(system('test'), tx =>
      tx.run(sql`
        insert into source_attachments (id, source_id, account_id, n, filename, content_type, is_inline, size, content, text_state)
        select gen_random_uuid(), ${sourceId}, ${account.id}, n, n || '.txt', 'text/plain', false, 1, 'x', 'none'
        from generate_series(1, 899) as n`),
    )
  }
  assert.deepEqual(await subjects('budget'), ['many 2', 'plain 2', 'many 1', 'plain 1', 'many 0', 'plain 0'])
  const [many, plain] = (await search('budget')).body.messages
  assert.deepEqual([many.attachments.length, many.attachments_truncated], [10, true])
  assert.deepEqual([plain.attachments.length, plain.attachments_truncated], [0, false])
})

test('a folder that was emptied is gone for search', async () => {
  const { account, mailbox, search, subjects } = await aSite()
  await mailbox.file({ subject: 'gone', text: 'budget', folder: 'trash' })
  await account.box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update folders set discarded_at = ${tx.now} where inbox_id = ${mailbox.inboxId} and name = 'trash'`),
  )
  assert.deepEqual(await subjects('budget', { folder: 'all' }), [])
  assert.equal((await search('budget')).body.hidden.trash, 0)
})

test('a snippet shows where the words stand, also in an attachment, and nothing of it can run', async () => {
  const { mailbox, search } = await aSite()
  await mailbox.file({ subject: 's', text: `${'long '.repeat(400)}<script>alert("needle")</script>` })
  await mailbox.file({
    subject: 't',
    text: 'see <b>attached</b>',
    attachments: [{ filename: 'a.txt', content: Buffer.from('x'), text: 'here is a <needle> & more' }],
  })
  const { body } = await search('needle')
  assert.equal(body.messages[0].snippet, 'here is a &#60;<mark>needle</mark>&#62; &#38; more')
  assert.match(
    body.messages[1].snippet,
    /^… (?:long )+&#60;script&#62;alert\(&#34;<mark>needle<\/mark>&#34;\)&#60;\/script&#62;$/,
  )
  const bySubject = await search('subject:t')
  assert.equal(bySubject.body.messages[0].snippet, 'see &#60;b&#62;attached&#60;/b&#62;')
})

test('an inbox outside the reach of a key is not there', async () => {
  const account = await anAccount({ tenants: 2 })
  const [own, other] = [await aMailbox(account), await aMailbox(account, account.tenants[1]!.id)]
  await own.file({ subject: 'mine', text: 'budget' })
  const key = await account.withKey({ scopes: ['read'], inbox_id: own.inboxId })
  const tenantKey = await account.withKey({ scopes: ['read'], tenant_id: account.tenants[1]!.id })
  assert.equal((await key.get(`/v1/inboxes/${own.inboxId.toUpperCase()}/search?q=budget`)).body.messages.length, 1)
  for (const [api, id] of [
    [key, other.inboxId],
    [tenantKey, own.inboxId],
    [(await anAccount()).api, own.inboxId],
  ] as const)
    assert.equal((await api.get(`/v1/inboxes/${id}/search?q=budget`)).status, 404)
  await other.file({ subject: 'theirs', text: 'budget' })
  const { body } = await account.api.get(`/v1/inboxes/${own.inboxId}/search?q=budget`)
  assert.deepEqual(
    body.messages.map((message: { subject: string }) => message.subject),
    ['mine'],
  )
})

test('whatever is asked for gets a result or a clear refusal', async () => {
  const { mailbox, account, search } = await aSite()
  await mailbox.file({ subject: 'x', text: 'it is 12:30 & a <-> b:* \\ end' })
  const queries = [
    'from:',
    'has:x',
    'before:never',
    'label:',
    'in:',
    'a or label:x',
    `a & b | !c (d) <-> e:* \\ ' "`,
    "'; drop table inboxes; --",
    'label:\ud800x',
    'in:\ud83d',
    '\ud800 a',
    '%',
    'a\\',
    `${'a '.repeat(49)}b`,
    `"${'word '.repeat(150)}"`,
    '字'.repeat(150),
    'x'.repeat(1_000),
    '-a -b -c',
    '!!! or ???',
    'a or b or c or d',
    '🙂',
  ]
  for (const q of queries) assert.ok([200, 400].includes((await search(q)).status), q)
  assert.equal((await search('a'.repeat(10_000))).status, 400)
  assert.equal((await search('')).status, 400)
  assert.equal((await search('a\0b')).status, 400)
  const path = `/v1/inboxes/${mailbox.inboxId}/search`
  assert.equal((await account.api.get(path)).status, 400)
  assert.ok((await account.api.get(`${path}?q=%ED%A0%80`)).status < 500)
  assert.equal((await account.api.get(`${path}?q=a&limit=501`)).status, 400)
  assert.equal((await account.api.get(`${path}?q=a&folder=${'x'.repeat(65)}`)).status, 400)
})

test('only all stands for every folder: a folder may have any other name', async () => {
  const { account, mailbox, search, subjects } = await aSite()
  await mailbox.file({ subject: 'here', text: 'plan' })
  const path = `/v1/inboxes/${mailbox.inboxId}`
  assert.equal((await search('plan in:anywhere')).status, 400)
  assert.equal((await account.api.post(`${path}/folders`, { name: 'anywhere' })).status, 201)
  assert.deepEqual(await subjects('plan in:anywhere'), [])
  assert.deepEqual((await account.api.get(`${path}/search?q=plan&folder=anywhere`)).body.messages, [])
  assert.deepEqual(await subjects('plan in:all'), ['here'])
})

test('in an inbox of many messages rare words are found in all of them, and common ones among the newest', async () => {
  const { account, mailbox, search, subjects } = await aSite()
  const at = (n: number) => new Date(Date.now() - n * DAY_MS)
  await mailbox.file({ subject: 'common', text: 'oldest zeppelin', receivedAt: at(9) })
  await mailbox.file({ subject: 'old', text: 'a blue zeppelin over the lake', receivedAt: at(8) })
  await mailbox.file({ subject: 'binned', text: 'zeppelin', folder: 'trash', receivedAt: at(8) })
  const { id } = await mailbox.file({ subject: 'copy', text: 'common words over a blue lake', receivedAt: at(7) })
  await account.box.app.world.db.transact(system('test'), async tx => {
    const copies = Array.from({ length: 450 }, (_, n) => newId(new Date(at(6).getTime() + n)))
    await tx.run(sql`insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction,
        is_read, from_text, from_address, to_list, cc_list, subject, snippet, received_at, size)
      select copy, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction, is_read, from_text,
        from_address, to_list, cc_list, subject, snippet, received_at, size
      from inbox_messages cross join unnest(${copies}::uuid[]) as copy where id = ${id}`)
    await tx.run(sql`insert into message_words (message_id, inbox_id, words)
      select copy, inbox_id, words from message_words cross join unnest(${copies}::uuid[]) as copy where message_id = ${id}`)
  })
  // By the index: words, phrases, beginnings, fields, folders.
  assert.deepEqual(await subjects('zeppelin'), ['old', 'common'])
  assert.equal((await search('zeppelin')).body.hidden.trash, 1)
  assert.deepEqual(await subjects('-blue zepp'), ['common'])
  assert.deepEqual(await subjects('"blue zeppelin"'), ['old'])
  assert.deepEqual(await subjects('"zeppelin blue"'), [])
  assert.deepEqual(await subjects('zeppelin in:trash'), ['binned'])
  assert.deepEqual((await subjects('zeppelin after:2020', { folder: 'all' })).toSorted(), ['binned', 'common', 'old'])
  // In the order of the messages: a subject that has it comes first, however old it is.
  const common = await subjects('common', { limit: '500' })
  assert.deepEqual([common.length, common[0], common[1]], [452, 'common', 'copy'])
  assert.equal((await subjects('"blue lake"', { limit: '500' })).length, 451)
})

test('only the newest matches are ranked, and a long list of them stays in order', async () => {
  const { mailbox, subjects } = await aSite()
  for (let n = 0; n < 5; n++) {
    const receivedAt = new Date(Date.now() - n * DAY_MS)
    await mailbox.file({ subject: `mail ${n}`, text: 'again and again', receivedAt })
  }
  assert.deepEqual(await subjects('again'), ['mail 0', 'mail 1', 'mail 2', 'mail 3', 'mail 4'])
  assert.deepEqual(await subjects('again', { limit: '2' }), ['mail 0', 'mail 1'])
})

test('a mail of very many words is found by all of them, and in many inboxes at once by the first of them', async () => {
  const { account, mailbox, subjects } = await aSite()
  const count = 19_000
  const word = (n: number): string => `${'w'.repeat(40)}${n}`
  const words = vectorOf(
    new Map(Array.from({ length: count }, (_, n) => [word(n), [weighted(Math.min(n + 1, 16_000), 'C')]])),
  )
  const ids: string[] = []
  for (const subject of ['one', 'two', 'three', 'four']) ids.push((await mailbox.file({ subject })).id)
  const filed = (mail: object, messageId: string) => ({ messageId, inboxId: mailbox.inboxId, words, mail })
  const [first, ...copies] = ids as [string, ...string[]]
  const [alone, shared] = [{}, {}]
  await account.box.app.world.db.transact(system('test'), async tx =>
    insertWords(tx, [filed(alone, first), ...copies.map(id => filed(shared, id))]),
  )
  assert.deepEqual((await subjects(word(7_777))).toSorted(), ['four', 'one', 'three', 'two'])
  assert.deepEqual(await subjects(word(count - 1)), ['one'])
})
