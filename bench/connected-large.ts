// A mailbox of 100,000 messages that changes while it is mirrored, and a process that is killed twice meanwhile. In the end both
// sides must have the same messages in the same folders with the same flags, none lost and none doubled.
import { setTimeout as delay } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import type pg from 'pg'
import type { Dovecot } from '../test/support/programs/dovecot.ts'
import { connect, kill, mailOf, withSite, type Site } from './support/mirrors.ts'
import { count, heading, note, report } from './support/report.ts'
import { residentMegabytes } from './support/server.ts'

const MESSAGES = 100_000
const MESSAGE_BYTES = 600
const DELIVERED_AT_ONCE = 10_000
/** Shares of the mailbox that are here when the process is killed. */
const KILLED_AT = [0.3, 0.6]
const READER = 'reader@gmail.test'
/** Dovecot reads the whole directory again after each change: more often, and little else would be measured. */
const CHANGE_MS = 5_000
const [DELIVERED, FLAGGED, MOVED, REMOVED] = [40, 40, 10, 20]
const MEGABYTES_MAX = 600

export async function benchConnectedLarge(): Promise<void> {
  heading(`A connected mailbox of ${count(MESSAGES)} messages that changes while it is mirrored, with kill -9`)
  await withSite(async site => {
    for (let n = 0; n < MESSAGES; n += DELIVERED_AT_ONCE) await deliver(site.dovecot, n, DELIVERED_AT_ONCE)
    const person = await aPerson(site.dovecot)
    const began = performance.now()
    await connect(site.db, [READER])
    const changes = person.begin()
    const seen = await watch(site, changes.removed)
    await changes.end()
    const seconds = (performance.now() - began) / 1000
    report({ name: 'until it is live, s', value: seconds.toFixed(0) })
    report({ name: 'messages/s, with two restarts', value: count(MESSAGES / seconds) })
    report({ name: 'delivered, moved, flagged and removed meanwhile', value: count(changes.count()) })
    report({
      name: 'memory, MB at most',
      value: seen.megabytes.toFixed(0),
      target: `<= ${MEGABYTES_MAX}`,
      isMet: seen.megabytes <= MEGABYTES_MAX,
    })
    report({
      name: 'looks at which the newest were not here first',
      value: count(seen.disorders),
      target: '0',
      isMet: seen.disorders === 0,
    })
    report({
      name: 'looks at which progress fell or passed its total',
      value: count(seen.setbacks),
      target: '0',
      isMet: seen.setbacks === 0,
    })
    await compare(site.db, person)
    await person.leave()
  })
}

const deliver = (dovecot: Dovecot, from: number, many: number): Promise<void> =>
  dovecot.deliver(
    READER,
    Array.from({ length: many }, (_, n) => mailOf(from + n, MESSAGE_BYTES)),
  )

interface Seen {
  megabytes: number
  disorders: number
  setbacks: number
}

/** Until everything is here, through both kills. `removed`: how many messages have left the inbox of the provider so far. */
async function watch({ db, startHost }: Site, removed: () => number): Promise<Seen> {
  const seen: Seen = { megabytes: 0, disorders: 0, setbacks: 0 }
  const kills = [...KILLED_AT]
  let host = await startHost()
  let [most, told] = [0, 0]
  for (;;) {
    await delay(1_000)
    seen.megabytes = Math.max(seen.megabytes, await residentMegabytes(host.pid!))
    const { state, synced, total, low, next, rows } = await look(db)
    if (synced >= told + MESSAGES / 10)
      note(`${count((told = synced))} of ${count(total)} after ${count(performance.now() / 1000)} s`)
    // From the lowest that is here up to the newest, only those that left are not here.
    if (rows > 0 && next - low - rows > removed()) seen.disorders += 1
    // What is removed at the provider lowers it by as much.
    if (synced > total || synced < most - removed()) seen.setbacks += 1
    most = Math.max(most, synced)
    if (state === 'live') return seen
    if (kills.length === 0 || synced < kills[0]! * MESSAGES) continue
    kills.shift()
    await kill(host)
    // The lease of the dead would lapse in a minute.
    await db.query('update connections set due_at = now()')
    host = await startHost()
  }
}

/** The state of the connection, and which UIDs of the provider's inbox are here. */
async function look(db: pg.Client) {
  const { rows } = await db.query<Record<string, string>>(`
    select c.state, c.messages_synced as synced, coalesce(c.messages_total, c.messages_synced) as total,
      coalesce(f.next_uid, 0) as next, m.low, m.n
    from connections c left join remote_folders f on f.inbox_id = c.inbox_id and f.role = 'inbox',
      lateral (select coalesce(min(uid), 0) as low, count(*) as n from remote_messages m
        where m.remote_folder_id = f.id and uid > 0) m`)
  const { state, synced, total, low, next, n } = rows[0]!
  const numbers = {
    synced: Number(synced),
    total: Number(total),
    low: Number(low),
    next: Number(next),
    rows: Number(n),
  }
  return { state, ...numbers }
}

/** Another program of the same person, which changes the mailbox and knows it in the end. */
async function aPerson(dovecot: Dovecot) {
  const auth = { user: READER, accessToken: dovecot.tokenOf(READER) }
  const client = new ImapFlow({ ...dovecot.server, auth, logger: false, disableAutoIdle: true })
  await client.connect()
  await client.mailboxCreate('Work')
  let [changes, removed, delivered, isOver] = [0, 0, MESSAGES, false]
  const change = async (): Promise<void> => {
    await client.mailboxOpen('INBOX')
    while (!isOver) {
      await delay(CHANGE_MS)
      await deliver(dovecot, delivered, DELIVERED)
      delivered += DELIVERED
      const some = (n: number): string =>
        Array.from({ length: n }, () => 1 + Math.floor(Math.random() * delivered)).join()
      await client.messageFlagsAdd(some(FLAGGED), ['\\Seen'], { uid: true })
      removed += MOVED + REMOVED
      await client.messageMove(some(MOVED), 'Work', { uid: true })
      await client.messageDelete(some(REMOVED), { uid: true })
      changes += DELIVERED + FLAGGED + MOVED + REMOVED
    }
  }
  return {
    begin: () => {
      const changing = change()
      return {
        count: () => changes,
        removed: () => removed,
        end: async () => {
          isOver = true
          await changing
        },
      }
    },
    /** Every message as `folder Message-ID seen`. */
    list: async (): Promise<string[]> => {
      const found: string[] = []
      for (const [path, folder] of [
        ['INBOX', 'inbox'],
        ['Work', 'Work'],
      ] as const) {
        const { exists } = await client.mailboxOpen(path)
        if (exists === 0) continue
        for await (const { flags, envelope } of client.fetch('1:*', { uid: true, flags: true, envelope: true })) {
          found.push(`${folder} ${envelope?.messageId} ${flags?.has('\\Seen')}`)
        }
      }
      return found
    },
    leave: () => client.logout(),
  }
}

const SETTLED_S_MAX = 300

/** What the person did last is still on its way: both sides are compared until they agree, or do not in time. */
async function compare(db: pg.Client, person: { list(): Promise<string[]> }): Promise<void> {
  const began = performance.now()
  let [missing, extra] = [0, 0]
  do {
    await delay(5_000)
    const there = counted(await person.list())
    const { rows } = await db.query<{ line: string }>(`
      select f.name || ' ' || m.rfc_message_id || ' ' || m.is_read as line
      from inbox_messages m join folders f on f.id = m.folder_id`)
    const here = counted(rows.map(({ line }) => line))
    missing = difference(there, here)
    extra = difference(here, there)
  } while (missing + extra > 0 && performance.now() - began < SETTLED_S_MAX * 1000)
  report({
    name: 'lost, or in another folder or with another flag',
    value: count(missing),
    target: '0',
    isMet: missing === 0,
  })
  report({ name: 'doubled, or gone there', value: count(extra), target: '0', isMet: extra === 0 })
  const { synced, total } = await look(db)
  const shown = await db.query<{ n: string }>('select count(*) as n from inbox_messages')
  const isRight = synced === total && synced === Number(shown.rows[0]!.n)
  report({ name: 'progress in the end', value: `${count(synced)} of ${count(total)}`, target: 'all', isMet: isRight })
}

function counted(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

const difference = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number => {
  let sum = 0
  for (const [line, n] of a) sum += Math.max(0, n - (b.get(line) ?? 0))
  return sum
}
