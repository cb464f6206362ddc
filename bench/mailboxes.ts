// A million messages over a thousand inboxes, one of them with a hundred thousand: lists, folders, search, batches, emptying and
// filing against an inbox of a thousand.
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { newId } from '../src/platform/ids.ts'
import { binaryArray } from '../src/platform/db/sql.ts'
import { TSVECTOR } from '../src/mailbox/search/vector.ts'
import { wordsOf } from '../src/mailbox/search/words.ts'
import { aDnsServer } from '../src/platform/net/dns.fixture.ts'
import { databaseClient } from './latency.ts'
import { filed } from './receive.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, note, percentile, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { startServer, type BenchServer } from './support/server.ts'
import { smtpLoad } from './support/smtp-load.ts'

const MESSAGES = Number(process.env['MAILBOX_MESSAGES'] ?? 1_000_000)
const INBOXES = 1_000
const LARGE = Math.floor(MESSAGES / 10)
const SMALL = 1_000
const BATCH = 5_000
const CALLS = 150
const TRASHED = 50_000

interface Mailbox {
  id: string
  accountId: string
  tenantId: string
  folders: Record<string, string>
}

export async function benchMailboxes(): Promise<void> {
  heading(`Mailboxes: ${count(MESSAGES)} messages over ${count(INBOXES)} inboxes, one of ${count(LARGE)}`)
  const [port, dns] = [await freePort(), await aDnsServer()]
  const server = await startServer({
    LOG_LEVEL: 'warn',
    MX_PORT: String(port),
    DNS_SERVERS: dns.address,
    MX_RATE_PER_MINUTE: '10000000',
  })
  const client = await databaseClient(server)
  const { bearer, mailboxes } = await makeInboxes(server, client)
  const filing = filingRate(server, port)
  // Not counted: code is compiled in it.
  await filing()
  const empty = await filing()
  await fill(client, mailboxes)
  const ratio = (await filing()) / empty
  report({ name: 'filing, against an empty database', value: ratio.toFixed(2), target: '>= 0.8', isMet: ratio >= 0.8 })
  const [large, small] = [mailboxes[0]!, mailboxes[1]!]
  const call = caller(server, bearer)
  for (const [name, path] of [
    ['message list', '/messages?limit=50'],
    ['folder list', '/messages?folder=inbox&limit=50'],
    ['thread list', '/threads?limit=50'],
    ['folder counts', '/folders'],
  ] as const) {
    await compare(
      name,
      () => call('GET', `/v1/inboxes/${large.id}${path}`),
      () => call('GET', `/v1/inboxes/${small.id}${path}`),
    )
  }
  await single('search, rare word', 120, n => call('GET', `/v1/inboxes/${large.id}/search?q=rare${n * 7}`))
  await single('search, commonest word', 250, () => call('GET', `/v1/inboxes/${large.id}/search?q=common0`))
  await batches(client, call, large)
  await emptying(client, call, large)
  await client.end()
  await server.stop()
  await dns.close()
}

const FILED = 1_000

/** Mails a second, from the first connection until the last is filed. */
function filingRate(server: BenchServer, port: number): () => Promise<number> {
  let before = 0
  return async () => {
    const mails = Array.from({ length: FILED }, (_, n) => ({
      from: 'a@example.com',
      to: `u${2 + (n % 50)}@many.sluice.test`,
      content: `From: a@example.com\r\nSubject: Matter ${before + n}\r\n\r\n${'Some words of a mail. '.repeat(100)}`,
    }))
    const began = performance.now()
    await smtpLoad({ port, login: null, connections: 16, messages: FILED, mails })
    before += FILED
    while ((await filed(server)) < before) await delay(50)
    return FILED / ((performance.now() - began) / 1000)
  }
}

type Call = (method: string, path: string, body?: object) => Promise<{ status: number; ms: number; body: Answer }>
interface Answer {
  deleted?: number
  messages?: { id: string }[]
}

const caller =
  (server: BenchServer, bearer: string): Call =>
  async (method, path, body) => {
    const began = performance.now()
    const reply = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const answer = (await reply.json()) as Answer
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${JSON.stringify(answer)}`)
    return { status: reply.status, ms: performance.now() - began, body: answer }
  }

/** In turn, so that both meet the same machine. */
async function compare(name: string, large: () => ReturnType<Call>, small: () => ReturnType<Call>): Promise<void> {
  const times = { large: [] as number[], small: [] as number[] }
  for (let n = 0; n < CALLS + 10; n++) {
    const [one, other] = [(await large()).ms, (await small()).ms]
    if (n < 10) continue
    times.large.push(one)
    times.small.push(other)
  }
  const p99 = percentile(times.large, 0.99)
  report({ name: `${name}, p99`, value: `${p99.toFixed(1)} ms`, target: '<= 25 ms', isMet: p99 <= 25 })
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)
  const ratio = sum(times.small) / sum(times.large)
  report({
    name: `${name}, rate against ${count(SMALL)}`,
    value: ratio.toFixed(2),
    target: '>= 0.9',
    isMet: ratio >= 0.9,
  })
}

async function single(name: string, msMax: number, call: (n: number) => ReturnType<Call>): Promise<void> {
  const times: number[] = []
  for (let n = 0; n < CALLS; n++) times.push((await call(n)).ms)
  const p99 = percentile(times, 0.99)
  const value = `${percentile(times, 0.5).toFixed(0)} / ${p99.toFixed(0)} ms`
  report({ name: `${name}, p50 / p99`, value, target: `<= ${msMax} ms`, isMet: p99 <= msMax })
}

async function batches(client: pg.Client, call: Call, { id, folders }: Mailbox): Promise<void> {
  const { rows } = await client.query('select id from inbox_messages where folder_id = $1 order by id desc limit $2', [
    folders['inbox'],
    200 * 40,
  ])
  const times: number[] = []
  for (let start = 0; start < rows.length; start += 200) {
    const ids = rows.slice(start, start + 200).map(row => row.id as string)
    times.push((await call('POST', `/v1/inboxes/${id}/batch`, { action: 'move', ids, folder: 'archive' })).ms)
  }
  const p99 = percentile(times, 0.99)
  const value = `${percentile(times, 0.5).toFixed(0)} / ${p99.toFixed(0)} ms`
  report({ name: 'batch of 200 moves, p50 / p99', value, target: '<= 100 ms', isMet: p99 <= 100 })
}

async function emptying(client: pg.Client, call: Call, { id, folders }: Mailbox): Promise<void> {
  const trashed = Math.min(TRASHED, LARGE / 2)
  await client.query(
    `with moved as (update inbox_messages set folder_id = $2, is_read = true where id in (
       select id from inbox_messages where folder_id = $1 order by id limit $3) returning thread_id)
     update threads t set message_count = 0, unread_count = 0, visible_count = 0 from moved where t.id = moved.thread_id`,
    [folders['inbox'], folders['trash'], trashed],
  )
  await client.query(
    `update folders f set total = c.total, unread = c.unread from (
       select folder_id, count(*)::int as total, (count(*) filter (where not is_read))::int as unread from inbox_messages
       where inbox_id = $1 group by folder_id) c where c.folder_id = f.id`,
    [id],
  )
  const { ms, body } = await call('POST', `/v1/inboxes/${id}/folders/trash/empty`)
  report({
    name: `emptying a trash of ${count(trashed)}`,
    value: `${ms.toFixed(0)} ms`,
    target: '<= 500 ms',
    isMet: ms <= 500,
  })
  report({ name: 'and its count', value: count(body.deleted ?? -1), isMet: body.deleted === trashed })
}

async function makeInboxes(server: BenchServer, client: pg.Client): Promise<{ bearer: string; mailboxes: Mailbox[] }> {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Bench' })
  const bearer: string = created.api_key.secret
  const { body: tenant } = await apiFetch(server, '/v1/tenants', { external_id: 'bench', name: 'Bench' }, bearer)
  const { body: domain } = await apiFetch(
    server,
    `/v1/tenants/${tenant.id}/domains`,
    { name: 'many.sluice.test' },
    bearer,
  )
  await apiFetch(server, `/v1/domains/${domain.id}/inbound`, { enabled: true }, bearer)
  const mailboxes: Mailbox[] = []
  for (let n = 0; n < INBOXES; n++) {
    const wanted = { domain_id: domain.id, local_part: `u${n}` }
    const { body } = await apiFetch(server, `/v1/tenants/${tenant.id}/inboxes`, wanted, bearer)
    mailboxes.push({ id: body.id, accountId: created.account.id, tenantId: tenant.id, folders: {} })
  }
  const { rows } = await client.query('select inbox_id, name, id from folders')
  const byId = new Map(mailboxes.map(mailbox => [mailbox.id, mailbox]))
  // The demo has an inbox too.
  for (const { inbox_id, name, id } of rows) {
    const mailbox = byId.get(inbox_id)
    if (mailbox) mailbox.folders[name] = id
  }
  return { bearer, mailboxes }
}

async function fill(client: pg.Client, mailboxes: readonly Mailbox[]): Promise<void> {
  await client.query('set synchronous_commit = off')
  const began = Date.now() - 30 * 86_400_000
  for (let done = 0; done < MESSAGES; done += BATCH) {
    const rows = Array.from({ length: BATCH }, (_, at) => rowOf(done + at, mailboxes, began))
    await client.query(INSERT, [
      rows.map(row => row.id),
      rows.map(row => row.thread),
      rows.map(row => row.mailbox.id),
      rows.map(row => row.mailbox.folders['inbox']),
      rows.map(row => row.subject),
      rows.map(row => new Date(row.time)),
      mailboxes[0]!.accountId,
      mailboxes[0]!.tenantId,
      binaryArray(
        TSVECTOR,
        rows.map(row => row.words),
      ),
    ])
    if ((done + BATCH) % 100_000 === 0) note(`${count(done + BATCH)} messages`)
  }
  await client.query(`update folders f set total = c.total, unread = c.unread from (
    select folder_id, count(*)::int as total, (count(*) filter (where not is_read))::int as unread from inbox_messages
    group by folder_id) c where c.folder_id = f.id`)
  note('vacuum')
  await client.query('vacuum analyze')
}

/** A tenth goes to the first inbox, a thousand to the second, the rest to all others. */
function mailboxOf(n: number, mailboxes: readonly Mailbox[]): Mailbox {
  if (n % 10 === 0) return mailboxes[0]!
  if (n % Math.floor(MESSAGES / SMALL) === 1) return mailboxes[1]!
  return mailboxes[2 + (n % (INBOXES - 2))]!
}

function rowOf(n: number, mailboxes: readonly Mailbox[], began: number) {
  const time = began + Math.floor((n / MESSAGES) * 29 * 86_400_000)
  const subject = `Matter ${n} of word${n % 997}`
  // Words as in prose: some in every mail, most in few.
  const words = Array.from({ length: 60 }, (_, at) =>
    at < 10 ? `common${at}` : `word${(n * 31 + at * at * 17) % (50 * at * at)}`,
  )
  const text = `${words.join(' ')} rare${n}`
  const document = {
    subject,
    text,
    htmlText: '',
    addresses: { from: [`Sender ${n % 5000} <s${n % 5000}@example.com>`], to: ['u@many.sluice.test'] },
    attachmentNames: [],
    attachmentTexts: [],
  }
  return {
    id: newId(new Date(time)),
    thread: newId(new Date(time)),
    mailbox: mailboxOf(n, mailboxes),
    subject,
    time,
    words: wordsOf(document),
  }
}

const INSERT = `
  with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::timestamptz[], $9::tsvector[])
      as g (id, thread_id, inbox_id, folder_id, subject, at, words)
  ), t as (
    insert into threads (id, account_id, tenant_id, inbox_id, subject, subject_key, participants, message_count, unread_count,
      visible_count, last_message_at, created_at)
    select thread_id, $7, $8, inbox_id, subject, lower(subject), '{s@example.com}', 1, 1, 1, at, at from given
  ), m as (
    insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, direction, is_read, from_text,
      from_address, to_list, cc_list, subject, snippet, received_at, size, auth, shield)
    select id, $7, $8, inbox_id, thread_id, folder_id, 'in', false, 'S <s@example.com>', 's@example.com', '{u@many.sluice.test}',
      '{}', subject, 'A line of the mail that says what it is about.', at, 4000,
      '{"spf":{"result":"pass","domain":"example.com","aligned":true},"dkim":{"result":"pass","signatures":[]},"dmarc":{"result":"pass","policy":null,"domain":"example.com"},"arc":{"result":"none"}}',
      '{"verdict":"clean","reasons":[],"blocked":false}' from given
  )
  insert into message_words (message_id, inbox_id, words) select id, inbox_id, words from given`
