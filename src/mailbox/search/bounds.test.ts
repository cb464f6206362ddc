// How much of a large inbox a search reads, and what it finds there all the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { aMailbox, type FiledMail, type TestMailbox } from './mailbox.fixture.ts'
import { parseQuery } from './parse-query.ts'
import { findMatches } from './queries.ts'
import { scopeOf, type SearchedFolder } from './scope.ts'
import { tsQueryOf } from './tsquery.ts'

const DAY_MS = 86_400_000
const BOUNDS = { scanMax: 500, matchesMax: 1_000 }
const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS)

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

interface Site {
  mailbox: TestMailbox
  run(statement: Sql): Promise<void>
  /** Fills the folder of this message with messages like it, one for each id. */
  copy(of: FiledMail, ids: readonly string[]): Promise<void>
  /** Over HTTP, the subjects that were found in their order. */
  subjects(q: string, more?: Record<string, string>): Promise<string[]>
  /** With small bounds: the ids, and every node of the plans that reads a table, with the rows that it read. */
  look(q: string): Promise<{ ids: string[]; hidden: number; scans: { node: PlanNode; rows: number }[] }>
}

async function aSite(): Promise<Site> {
  const account = await anAccount()
  const { db } = account.box.app.world
  const mailbox = await aMailbox(account)
  const { inboxId } = mailbox
  const run: Site['run'] = async statement => void (await db.transact(system('test'), tx => tx.run(statement)))
  return {
    mailbox,
    run,
    copy: async ({ id }, ids) => {
      await run(sql`
        insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction,
          is_read, from_text, from_address, to_list, cc_list, subject, snippet, received_at, size)
        select copy, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction, is_read, from_text,
          from_address, to_list, cc_list, subject, snippet, received_at, size
        from inbox_messages cross join unnest(${ids}::uuid[]) as copy where id = ${id}`)
      await run(sql`
        insert into message_words (message_id, inbox_id, words)
        select copy, inbox_id, words from message_words cross join unnest(${ids}::uuid[]) as copy
        where message_id = ${id}`)
    },
    subjects: async (q, more) => {
      const query = new URLSearchParams({ q, ...more }).toString()
      const { status, body } = await account.api.get(`/v1/inboxes/${inboxId}/search?${query}`)
      assert.equal(status, 200, JSON.stringify(body))
      return body.messages.map((message: { subject: string }) => message.subject)
    },
    look: async q => {
      const { groups } = parseQuery(q)
      const folders = await db.many<SearchedFolder>(sql`
        select id, name, total, false as is_discarded from folders where inbox_id = ${inboxId}`)
      const scans: { node: PlanNode; rows: number }[] = []
      const explaining = {
        many: async <Row>(statement: Sql): Promise<Row[]> => {
          const [row] = await db.many<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
            sql`explain (analyze, format json) ${statement}`,
          )
          scans.push(...scansOf(row!['QUERY PLAN'][0].Plan))
          return db.many<Row>(statement)
        },
      }
      const scope = scopeOf(groups, { inboxId, folder: null, folders })
      const { ids, hidden } = await findMatches(explaining, { words: tsQueryOf(groups), scope, limit: 50 }, BOUNDS)
      return { ids, hidden, scans }
    },
  }
}

/** Those that lead to rows, and not the index below a bitmap. */
const scansOf = (node: PlanNode): { node: PlanNode; rows: number }[] => [
  ...(node['Relation Name'] === undefined
    ? []
    : [{ node, rows: (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] }]),
  ...(node.Plans ?? []).flatMap(scansOf),
]

const sum = (numbers: readonly number[]): number => numbers.reduce((left, right) => left + right, 0)

/** Ids of messages that came a second apart, the newest last. */
const idsFrom = (start: Date, count: number): string[] =>
  Array.from({ length: count }, (_, n) => newId(new Date(start.getTime() + n * 1_000)))

const COPIES = 6_000

/** The messages that operators ask for are the oldest, behind thousands that they do not ask for. */
async function aLargeInbox(): Promise<Site> {
  const site = await aSite()
  const { mailbox } = site
  const attachments = [{ filename: 'a.txt', content: Buffer.from('a'), text: 'a' }]
  await mailbox.file({ subject: 'file', text: 'blue zeppelin', attachments, receivedAt: daysAgo(19) })
  await mailbox.file({ subject: 'labelled', text: 'zeppelin', labels: ['kept', 'more'], receivedAt: daysAgo(18) })
  await mailbox.file({ subject: 'both', labels: ['kept'], attachments, receivedAt: daysAgo(17) })
  await mailbox.file({ subject: 'elsewhere', labels: ['kept'], folder: 'archive', receivedAt: daysAgo(16) })
  await mailbox.file({ subject: 'gone', text: 'zeppelin', labels: ['kept'], attachments, folder: 'trash' })
  const copied = await mailbox.file({ subject: 'copy', text: 'common words', receivedAt: daysAgo(15) })
  await site.copy(copied, idsFrom(daysAgo(10), COPIES))
  return site
}

test('operators find the few old messages of a large inbox that they ask for', async () => {
  const { subjects } = await aLargeInbox()
  assert.deepEqual(await subjects('has:attachment'), ['both', 'file'])
  assert.deepEqual(await subjects('has:attachment zeppelin'), ['file'])
  assert.deepEqual(await subjects('has:attachment -blue'), ['both'])
  assert.deepEqual(await subjects('label:kept'), ['elsewhere', 'both', 'labelled'])
  assert.deepEqual(await subjects('label:kept label:more'), ['labelled'])
  assert.deepEqual(await subjects('label:kept has:attachment'), ['both'])
  assert.deepEqual(await subjects('label:kept -has:attachment'), ['elsewhere', 'labelled'])
  assert.deepEqual(await subjects('label:kept zeppelin'), ['labelled'])
  assert.deepEqual(await subjects('label:kept in:archive'), ['elsewhere'])
  assert.deepEqual(await subjects('label:kept in:all'), ['gone', 'elsewhere', 'both', 'labelled'])
  assert.deepEqual(await subjects('label:nothing'), [])
  assert.deepEqual(await subjects('label:nothing zeppelin'), [])
  const [day, dayAfter] = [daysAgo(18), daysAgo(17)].map(date => date.toISOString().slice(0, 10))
  assert.deepEqual(await subjects(`label:kept before:${dayAfter}`), ['labelled'])
  assert.deepEqual(await subjects(`has:attachment -after:${day}`), ['file'])
  assert.deepEqual(await subjects(`zeppelin before:${day}`), ['file'])
  assert.deepEqual(await subjects('zeppelin -label:kept'), ['file'])
  assert.deepEqual(await subjects('zeppelin has:attachment or label:nothing'), ['file'])
})

test('no operator makes a search read a whole folder', async () => {
  const { look, mailbox } = await aLargeInbox()
  await mailbox.file({ subject: 'newest', text: 'common' })
  for (const [q, found, readMax] of [
    ['label:nothing', 0, 0],
    ['label:nothing zeppelin', 0, 0],
    ['label:nothing common', 0, 0],
    ['label:kept', 3, 50],
    ['label:kept zeppelin', 1, 50],
    ['has:attachment', 2, 50],
    ['has:attachment zeppelin', 1, 50],
    ['has:attachment common', 0, 50],
    // A look at the id and one at the row, for each of scanMax.
    ['label:kept or has:attachment', 0, 2 * BOUNDS.scanMax + 50],
    ['-has:attachment -label:kept before:2020', 0, 50],
    // And the sample of 400: the id, the row and the words of each.
    ['label:kept or has:attachment common', 0, 2 * BOUNDS.scanMax + 3 * 400 + 50],
    ['label:kept or has:attachment zeppelin', 2, 3 * 400 + 50],
    ['-label:kept zeppelin', 1, 3 * 400 + 50],
  ] as const) {
    const { ids, scans } = await look(q)
    const read = sum(scans.map(({ rows }) => rows))
    assert.equal(ids.length, found, q)
    assert.ok(read <= readMax, `${q} read ${read} rows: ${JSON.stringify(scans)}`)
  }
})

test('many folders cost no more than one: the newest of all of them are merged', async () => {
  const { look, mailbox, copy } = await aSite()
  for (let n = 0; n < 12; n++) {
    const filed = await mailbox.file({ subject: 's', text: 'common', folder: `f${n}`, receivedAt: daysAgo(20 + n) })
    await copy(filed, idsFrom(daysAgo(10 - n / 2), BOUNDS.scanMax))
  }
  const { ids, scans } = await look('-has:attachment label:nothing or label:none')
  assert.equal(ids.length, 0)
  const read = sum(scans.map(({ rows }) => rows))
  assert.ok(read <= 2 * BOUNDS.scanMax + 50, `read ${read} rows`)
})

test('a word that is in most of the old messages and in few of the newest is found, the newest first', async () => {
  const { look, mailbox, copy, run } = await aSite()
  const old = await mailbox.file({ subject: 'old', text: 'common oldie', receivedAt: daysAgo(15) })
  await copy(old, idsFrom(daysAgo(10), COPIES))
  const recent = await mailbox.file({ subject: 'recent', text: 'common', receivedAt: daysAgo(5) })
  await copy(recent, idsFrom(daysAgo(4), 450))
  const last = await mailbox.file({ subject: 'last', text: 'oldie', receivedAt: daysAgo(1) })
  await run(sql`analyze message_words`)
  const { ids, scans } = await look('oldie')
  assert.deepEqual([ids.length, ids[0], ids.toSorted().toReversed()], [50, last.id, ids])
  const taken = scans.filter(({ node }) => node['Node Type'] === 'Bitmap Heap Scan')
  assert.deepEqual(
    taken.map(({ node, rows }) => [node['Relation Name'], rows]),
    [['message_words', BOUNDS.matchesMax]],
  )
})

test('what is counted in trash is looked up message by message, and never in the words of other inboxes', async () => {
  const { look, mailbox, copy, run } = await aSite()
  const trashed = await mailbox.file({ subject: 's', text: 'common', folder: 'trash', receivedAt: daysAgo(15) })
  await copy(trashed, idsFrom(daysAgo(10), 2_500))
  await run(sql`analyze message_words, inbox_messages`)
  const { hidden, scans } = await look('common')
  assert.equal(hidden, 2_000)
  const words = scans.filter(({ node }) => node['Relation Name'] === 'message_words')
  assert.deepEqual(
    words.filter(({ node }) => node['Index Name'] !== 'message_words_pkey'),
    [],
  )
})
