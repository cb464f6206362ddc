// A stream resumed from an id skips nothing and repeats nothing: under writers, reconnects, lost connections to the database,
// the end of a process, and clients that do not read.
// Waits more than it works.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { aBox, aDatabase, asSuperuser, theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { sql } from '../../platform/db/sql.ts'
import type { Db } from '../../platform/db/database.ts'
import { followEvents, followSocket, happen, type Follower } from './streams.fixture.ts'

const journalOf = async (db: Db, inbox: string, after = 0): Promise<number[]> => {
  const rows = await db.many<{ id: number }>(
    sql`select id from events where inbox_id = ${inbox} and id > ${after} order by id`,
  )
  return rows.map(({ id }) => id)
}

const newestOf = async (db: Db): Promise<number> =>
  (await db.one<{ id: number }>(sql`select coalesce(max(id), 0) as id from events`)).id

/** Follows, is cut after so many frames, and goes on from the last it has; over both protocols in turn. */
async function followWithCuts(
  account: TestAccount,
  { inbox, cuts, total, from }: { inbox: string; cuts: readonly number[]; total: number; from: number },
): Promise<number[]> {
  const seen: number[] = []
  const asked = { url: account.box.url, inbox, bearer: account.bearer }
  for (let n = 0; seen.length < total; n++) {
    const afterId = seen.at(-1) ?? from
    const stream = await (n % 2 === 0 ? followEvents({ ...asked, afterId }) : followSocket({ ...asked, afterId }))
    if (stream.status === 429) continue
    const wanted = cuts[n] === undefined ? total - seen.length : Math.min(cuts[n]!, total - seen.length)
    await stream.until(wanted)
    stream.close()
    // All that came, also what came after the cut was decided.
    for (const { id } of stream.frames) seen.push(id)
  }
  return seen
}

test('with concurrent writers and reconnects at any point every stream has the sequence of the journal', async () => {
  const account = await anAccount()
  const inbox = await anInbox(account)
  const { world } = account.box.app
  const schedules = fc.record({
    writers: fc.array(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }), {
      minLength: 2,
      maxLength: 4,
    }),
    cuts: fc.array(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 }), { minLength: 2, maxLength: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(schedules, async ({ writers, cuts }) => {
      const from = await newestOf(world.db)
      const total = writers.flat().reduce((sum, count) => sum + count, 0)
      const written = writers.map(async batches => {
        for (const count of batches) await happen(world, { accountId: account.id, inboxId: inbox }, count)
      })
      const followed = cuts.map(each => followWithCuts(account, { inbox, cuts: each, total, from }))
      await Promise.all(written)
      const sequences = await Promise.all(followed)
      const journal = await journalOf(world.db, inbox, from)
      assert.equal(journal.length, total)
      for (const sequence of sequences) assert.deepEqual(sequence, journal)
    }),
    { numRuns: 6 },
  )
})

test('two processes follow one inbox through a restart of one of them and see the same sequence', async t => {
  const databaseUrl = await aDatabase()
  const [one, two] = [await aBox({ until: t, databaseUrl }), await aBox({ until: t, databaseUrl })]
  const account = await anAccount({ box: two })
  const inbox = await anInbox(account)
  const from = await newestOf(two.app.world.db)
  const asked = { inbox, bearer: account.bearer, afterId: from }
  const first = await followSocket({ ...asked, url: one.url })
  const steady = await followEvents({ ...asked, url: two.url })
  const write = (count: number) => happen(two.app.world, { accountId: account.id, inboxId: inbox }, count)

  await write(20)
  await first.until(20)
  await one.close()
  await eventually('the process tells its streams that it stops', async () => first.closeCode() === 1001)
  await write(30)
  const slots = await two.app.world.db.many(sql`select n from stream_slots`)
  assert.equal(slots.length, 1, 'an orderly end gives its slots back')
  const again = await aBox({ until: t, databaseUrl })
  const second = await followSocket({ ...asked, url: again.url, afterId: first.frames.at(-1)!.id })
  await write(25)
  await second.until(55)
  await steady.until(75)

  const journal = await journalOf(two.app.world.db, inbox, from)
  assert.deepEqual(
    steady.frames.map(({ id }) => id),
    journal,
  )
  assert.deepEqual([...first.frames, ...second.frames], steady.frames)
  second.close()
  steady.close()
})

test('a stream outlives the connections of its process to the database', async t => {
  const box = await aBox({ until: t })
  const account = await anAccount({ box })
  const inbox = await anInbox(account)
  const { world } = box.app
  const stream = await followEvents({ url: box.url, inbox, bearer: account.bearer })
  const from = await newestOf(world.db)
  await happen(world, { accountId: account.id, inboxId: inbox }, 3)
  await stream.until(3)
  const superuser = new pg.Client({ connectionString: await asSuperuser(box.databaseUrl) })
  await superuser.connect()
  for (let round = 0; round < 3; round++) {
    await superuser.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name like 'sluice%' and datname = current_database()`)
    await eventually('events are written again', () =>
      happen(world, { accountId: account.id, inboxId: inbox }, 5).then(
        () => true,
        () => false,
      ),
    )
  }
  await superuser.end()
  const journal = await journalOf(world.db, inbox, from)
  await stream.until(journal.length)
  assert.deepEqual(
    stream.frames.map(({ id }) => id),
    journal,
  )
  assert.ok(!stream.isClosed())
  stream.close()
})

/** Asks for a stream and never reads a byte of it. */
async function aClientThatNeverReads(account: TestAccount, inbox: string, after: number): Promise<Socket> {
  const socket = connect(Number(new URL(account.box.url).port), '127.0.0.1')
  socket.pause().on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    `GET /v1/inboxes/${inbox}/events?after_id=${after} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.bearer}\r\n\r\n`,
  )
  return socket
}

test('a reader that is more than 1 MiB behind is cut, and the others get everything', async () => {
  const box = await theBox()
  const account = await anAccount({ box })
  const inbox = await anInbox(account)
  const { world } = box.app
  const from = await newestOf(world.db)
  const sockets = [await aClientThatNeverReads(account, inbox, from), await aClientThatNeverReads(account, inbox, from)]
  const open = async (count: number): Promise<boolean> =>
    (
      await world.db.many(sql`select n from stream_slots where key_id in
      (select id from api_keys where account_id = ${account.id})`)
    ).length === count
  await eventually('both are open', () => open(2))
  const reader: Follower = await followEvents({ url: box.url, inbox, bearer: account.bearer, afterId: from })
  // Beside what we keep for them, the system takes some megabytes for each.
  const data = { text: 'x'.repeat(20_000) }
  for (let n = 0; n < 5; n++) await happen(world, { accountId: account.id, inboxId: inbox, data }, 100)
  await reader.until(500)
  await eventually('the slow ones lose their slots', () => open(1))
  assert.deepEqual(
    reader.frames.map(({ id }) => id),
    await journalOf(world.db, inbox, from),
  )
  // What they did not read is gone from our memory; one that comes back and reads misses nothing.
  const resumed = await followSocket({ url: box.url, inbox, bearer: account.bearer, afterId: from })
  await resumed.until(500)
  for (const socket of sockets) socket.destroy()
  reader.close()
  resumed.close()
})
