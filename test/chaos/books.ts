// The books after a scenario: what the clients were told, the tables, the journal, the sink and the receiver must agree.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Load } from './kills.ts'
import type { Receiver } from './receiver.ts'
import { ADMIN_TOKEN, type Site } from './site.ts'

export interface Books {
  site: Site
  load: Load
  receiver: Receiver
  kills: number
  accountId: string
  url: string
}

type Count = (text: string) => Promise<number>
type Expect = (what: string, found: number, wanted: number) => void

const DRAIN_MS_MAX = 120_000

export async function checkBooks(books: Books): Promise<string[]> {
  const client = new pg.Client({ connectionString: books.site.databaseUrl })
  await client.connect()
  const one: Count = async text => Number((await client.query(text)).rows[0].count)
  const faults: string[] = []
  const expect: Expect = (what, found, wanted) => {
    if (found !== wanted) faults.push(`${what}: ${found}, expected ${wanted}`)
  }
  await until(async () => (await one('select count(*) from queue')) === 0)
  await checkDeliveries(books, one, expect)
  checkCopies(books, await cancelled(client), { expect, faults })
  await checkHolds(one, expect)
  await checkTails(books, one, expect)
  await checkWebhook(books, client, expect)
  const verdict = await fetch(`${books.url}/admin/v1/audit/verify`, { headers: { 'x-admin-token': ADMIN_TOKEN } })
  const { intact } = (await verdict.json()) as { intact: boolean }
  // Two processes keep their heads in two folders; the chain itself must be whole.
  if (!intact) faults.push('the audit log does not verify')
  await client.end()
  return faults
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DRAIN_MS_MAX
  while (!(await condition()) && performance.now() < deadline) await delay(200)
}

async function cancelled(client: pg.Client): Promise<Set<string>> {
  const { rows } = await client.query(`select recipient from deliveries where status = 'cancelled'`)
  return new Set(rows.map(row => row.recipient as string))
}

async function checkDeliveries({ load }: Books, one: Count, expect: Expect): Promise<void> {
  expect('still queued', await one('select count(*) from queue'), 0)
  expect(
    'deliveries neither delivered nor cancelled',
    await one(`select count(*) from deliveries where status not in ('delivered', 'cancelled')`),
    0,
  )
  expect(
    'cancelled without a tag that was purged',
    await one(`select count(*) from deliveries d join messages m on m.id = d.message_id
      where d.status = 'cancelled' and not m.tags ? 'purged'`),
    0,
  )
  expect('messages per key', await one('select count(*) from messages'), load.acknowledged.size)
  const ends = `select count(*) from (select message_id from events where type in ('delivered', 'cancelled')
    group by 1 having count(*) <> 1) x`
  expect('deliveries without exactly one end in the journal', await one(ends), 0)
}

function checkCopies(
  { site, load, kills }: Books,
  purged: ReadonlySet<string>,
  { expect, faults }: { expect: Expect; faults: string[] },
): void {
  const copies = Map.groupBy(site.sink.received, mail => mail.recipients[0]!)
  const lost = [...load.acknowledged.keys()].filter(each => !copies.has(each) && !purged.has(each))
  expect('acknowledged but never received', lost.length, 0)
  const extra = site.sink.received.length - copies.size
  console.log(`${extra} extra copies after ${kills} kills (those whose result could not be recorded may be)`)
  if (extra > kills * 600) faults.push(`${extra} extra copies are more than what was in flight at ${kills} kills`)
  const ids = new Set(site.sink.received.map(mail => /^Message-ID: (.+)$/m.exec(mail.source)?.[1]))
  expect('Message-IDs, one for all copies of a message', ids.size, copies.size)
}

/** Held = released + cancelled, for each delivery and in all; nothing is held any more. */
async function checkHolds(one: Count, expect: Expect): Promise<void> {
  const held = await one(`select count(*) from events where type = 'held'`)
  console.log(`${held} times held`)
  const unbalanced = `select count(*) from (
      select message_id, recipient from events where type in ('held', 'released', 'cancelled') group by 1, 2
      having count(*) filter (where type = 'held') <> count(*) filter (where type <> 'held')
    ) x`
  expect('deliveries whose holds do not balance', await one(unbalanced), 0)
  expect(
    'recipients that pauses still count',
    await one('select coalesce(sum(held), 0) as count from suspension_holds'),
    0,
  )
  const affected = await one('select coalesce(sum(affected_deliveries), 0) as count from suspensions')
  const ended = await one(`select count(*) from events where type in ('released', 'cancelled')`)
  expect('affected_deliveries of all resumes against events of release and cancellation', affected, ended)
}

/** The roll-ups say what the journal says. */
async function checkTails({ accountId }: Books, one: Count, expect: Expect): Promise<void> {
  const behind = () => one(`select (select last_value from events_id_seq) - min(cursor) as count from tails`)
  await until(async () => (await behind()) <= 0)
  for (const [column, type] of [
    ['recipients', 'accepted'],
    ['delivered', 'delivered'],
  ]) {
    const events = await one(`select count(*) from events where type = '${type}' and account_id = '${accountId}'`)
    for (const table of ['metric_minutes', 'metric_hours']) {
      const counted = await one(
        `select coalesce(sum(${column}), 0) as count from ${table} where scope_type = 'tenant' and account_id = '${accountId}'`,
      )
      expect(`${column} in ${table}`, counted, events)
    }
  }
}

/** Every event since the webhook was created has reached it. */
async function checkWebhook({ receiver, accountId }: Books, client: pg.Client, expect: Expect): Promise<void> {
  const open = `select count(*) from webhook_attempts where status in ('pending', 'failed')`
  await until(async () => Number((await client.query(open)).rows[0].count) === 0)
  const { rows } = await client.query(
    `select e.id from events e join webhooks w on w.account_id = e.account_id
     where e.account_id = '${accountId}' and e.created_at > w.created_at + interval '1 second'`,
  )
  const missing = rows.filter(row => !receiver.taken.has(Number(row.id)))
  console.log(`${receiver.taken.size} events reached the webhook, ${receiver.repeats} of them more than once`)
  expect('events that never reached the webhook', missing.length, 0)
}
