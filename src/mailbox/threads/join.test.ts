// How many threads, and how much of them, one mail makes one: its sender chooses which it names.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { joinThreads, type Joining } from './join.ts'

let account: TestAccount
let inboxId: string

before(async () => {
  account = await anAccount()
  inboxId = await anInbox(account)
})

const db = () => account.box.app.world.db

async function join(mail: Partial<Joining>): Promise<string> {
  const whole = { inboxId, rfcId: null, references: [], subject: '', participants: [], at: account.box.clock.now() }
  const [joined] = await db().transact(system('test'), tx => joinThreads(tx, [{ ...whole, ...mail }]))
  return joined!.threadId
}

/** A thread of one message, and the id that leads to it. */
async function aThread(): Promise<{ id: string; rfcId: string }> {
  const { threadId } = await aFiledMessage(account.box, inboxId)
  const rfcId = `<${unique('m')}@example.com>`
  assert.equal(await join({ rfcId, continues: threadId }), threadId)
  return { id: threadId, rfcId }
}

const manyThreads = async (count: number): Promise<{ id: string; rfcId: string }[]> => {
  const threads = []
  for (let n = 0; n < count; n++) threads.push(await aThread())
  return threads
}

async function standing(threads: readonly { id: string }[]): Promise<string[]> {
  const ids = threads.map(({ id }) => id)
  const rows = await db().many<{ id: string }>(
    sql`select id from threads where id = any(${ids}::uuid[]) and merged_into is null order by id limit 100`,
  )
  return rows.map(({ id }) => id)
}

test('of the threads that a mail names the four nearest become one, and the others stay', async () => {
  const threads = await manyThreads(8)
  const rfcId = `<${unique('own')}@example.com>`
  // The last one has named the mail before it came.
  await join({ references: [rfcId], continues: threads[7]!.id })
  const references = [0, 1, 2, 3, 4, 5, 6].map(n => threads[n]!.rfcId)
  const joined = await join({ rfcId, references })
  assert.equal(joined, threads[4]!.id)
  assert.deepEqual(
    await standing(threads),
    threads
      .slice(0, 5)
      .map(({ id }) => id)
      .toSorted(),
  )
  await assertMailboxCounts(db())
})

test('a thread of more rows than one mail may move stays, also where its messages are few', async () => {
  const [one, two, small] = await manyThreads(3)
  for (const { id } of [one!, two!]) {
    await db().transact(system('test'), tx =>
      tx.run(sql`insert into thread_references (inbox_id, rfc_id, thread_id)
        select ${inboxId}, decode(md5(${id} || n), 'hex'), ${id} from generate_series(1, 2500) n`),
    )
  }
  const joined = await join({ references: [small!.rfcId, two!.rfcId, one!.rfcId] })
  assert.ok(joined === one!.id || joined === two!.id)
  assert.deepEqual(await standing([one!, two!, small!]), [one!.id, two!.id].toSorted(), 'the small one was moved')
})

test('all threads that a mail merges share the rows that it may move', async () => {
  const threads = await manyThreads(3)
  for (const { id } of threads) {
    await db().transact(system('test'), tx =>
      tx.run(sql`insert into thread_references (inbox_id, rfc_id, thread_id)
        select ${inboxId}, decode(md5(${id} || n), 'hex'), ${id} from generate_series(1, 1200) n`),
    )
  }
  await join({ references: threads.map(({ rfcId }) => rfcId) })
  assert.equal((await standing(threads)).length, 2)
})

test('a blocked mail joins the nearest thread that it names, and merges none', async () => {
  const [far, near] = await manyThreads(2)
  const joined = await join({ references: [far!.rfcId, near!.rfcId], isBlocked: true })
  assert.equal(joined, near!.id)
  assert.deepEqual(await standing([far!, near!]), [far!.id, near!.id].toSorted())
})
