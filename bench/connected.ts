// Connected mailboxes: messages of 8 KB mirrored from a local Dovecot, the time from its word of a new mail until that can be
// read here, and the memory of many sessions that wait.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import pg from 'pg'
import { migrate, readMigrations } from '../src/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.ts'
import { startDovecot, type Dovecot } from '../test/support/programs/dovecot.ts'
import { hasPackage } from '../test/support/programs/debian.ts'
import { count, heading, note, percentile, report } from './support/report.ts'
import { residentMegabytes } from './support/server.ts'

const MESSAGES = 3_000
const MESSAGE_BYTES = 8_192
const LONE = 30
const SESSIONS = 500

export async function benchConnected(): Promise<void> {
  heading(
    `Connected mailboxes: ${count(MESSAGES)} messages of 8 KB from Dovecot, ${LONE} new ones, ${SESSIONS} sessions`,
  )
  if (process.getuid?.() !== 0) return note('Dovecot needs root to drop its rights: no such peer for these figures')
  if (!hasPackage('dovecot-imapd', ['dovecot'])) return
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => {} })
  await migrate(postgres.url, await readMigrations())
  const dovecot = await startDovecot()
  const db = new pg.Client({ connectionString: postgres.url })
  await db.connect()
  await makeAccount(db)
  const host = await startHost(postgres.url, dovecot.server.port)
  try {
    await measureHistory(db, dovecot)
    await measureNews(db, dovecot)
    await measureSessions(db, dovecot, host.pid!)
  } finally {
    host.kill('SIGKILL')
    await once(host, 'exit')
    await db.end()
    await dovecot.stop()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function startHost(databaseUrl: string, port: number): Promise<ChildProcess> {
  const host = spawn(
    process.execPath,
    ['--max-semi-space-size=8', 'test/support/mirror-host.ts', databaseUrl, String(port)],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, MALLOC_ARENA_MAX: '2' } },
  )
  await once(host.stdout, 'data')
  return host
}

const ACCOUNT = '00000000-0000-7000-8000-000000000001'

async function makeAccount(db: pg.Client): Promise<void> {
  await db.query(
    `insert into accounts (id, name, data_region, sandbox, created_at) values ('${ACCOUNT}', 'a', 'eu', true, now())`,
  )
  await db.query(`insert into tenants (id, account_id, external_id, name, created_at)
    values ('${ACCOUNT}', '${ACCOUNT}', 't', 't', now())`)
}

/** Answers the ids of the inboxes. */
async function connect(db: pg.Client, users: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `with made as (
       insert into inboxes (id, account_id, tenant_id, address, local_part, provider, created_at)
       select gen_random_uuid(), '${ACCOUNT}', '${ACCOUNT}', u, u, 'google', now() from unnest($1::text[]) u returning id, address
     ), filed as (
       insert into folders (id, inbox_id, name, name_key, is_system, created_at)
       select gen_random_uuid(), id, name, name, true, now()
       from made, unnest(array['inbox', 'sent', 'archive', 'spam', 'trash']) as name
     )
     select id from made`,
    [users],
  )
  await db.query(
    `insert into connections (inbox_id, account_id, tenant_id, provider, address, state, connected_at, due_at)
     select i.id, i.account_id, i.tenant_id, 'google', i.address, 'syncing', now(), now() from inboxes i where i.address = any($1)`,
    [users],
  )
  return rows.map(({ id }) => id)
}

const filed = async (db: pg.Client): Promise<number> =>
  Number((await db.query<{ n: string }>('select count(*) as n from inbox_messages')).rows[0]!.n)

const READER = 'reader@gmail.test'

async function measureHistory(db: pg.Client, dovecot: Dovecot): Promise<void> {
  await dovecot.deliver(
    READER,
    Array.from({ length: MESSAGES }, (_, n) => mailOf(n)),
  )
  await connect(db, [READER])
  let first = 0
  while ((first = await filed(db)) === 0) await delay(5)
  const began = performance.now()
  while ((await filed(db)) < MESSAGES) await delay(10)
  const rate = (MESSAGES - first) / ((performance.now() - began) / 1000)
  report({ name: 'history, messages/s', value: count(rate), target: '>= 300', isMet: rate >= 300 })
  await untilLive(db, 1)
}

async function untilLive(db: pg.Client, sessions: number): Promise<void> {
  const asked = `select count(*) as n from connections where state = 'live'`
  while (Number((await db.query<{ n: string }>(asked)).rows[0]!.n) < sessions) await delay(50)
}

/** Another client that waits in the same mailbox is told at the same moment. */
async function measureNews(db: pg.Client, dovecot: Dovecot): Promise<void> {
  const witness = new ImapFlow({
    ...dovecot.server,
    auth: { user: READER, accessToken: dovecot.tokenOf(READER) },
    logger: false,
  })
  await witness.connect()
  await witness.mailboxOpen('INBOX')
  void witness.idle()
  const times: number[] = []
  for (let n = 0; n < LONE; n++) {
    await delay(300)
    const told = once(witness, 'exists')
    await dovecot.deliver(READER, [mailOf(MESSAGES + n)])
    await told
    const began = performance.now()
    while ((await filed(db)) < MESSAGES + n + 1) await delay(2)
    times.push(performance.now() - began)
  }
  witness.close()
  const [p50, worst] = [percentile(times, 0.5), Math.max(...times)]
  report({ name: 'from word of it to visible, p50 ms', value: p50.toFixed(0) })
  report({
    name: 'from word of it to visible, worst ms',
    value: worst.toFixed(0),
    target: '<= 1000',
    isMet: worst <= 1_000,
  })
}

async function measureSessions(db: pg.Client, dovecot: Dovecot, pid: number): Promise<void> {
  const before = await residentMegabytes(pid)
  const users = Array.from({ length: SESSIONS - 1 }, (_, n) => `user${n}@gmail.test`)
  for (const user of users) await dovecot.deliver(user, [mailOf(0)])
  const began = performance.now()
  await connect(db, users)
  await untilLive(db, SESSIONS)
  const seconds = (performance.now() - began) / 1000
  let megabytes = 0
  for (let n = 0; n < 70; n++) {
    megabytes = Math.max(megabytes, await residentMegabytes(pid))
    await delay(1_000)
  }
  report({ name: 'before them, MB', value: before.toFixed(0) })
  report({ name: `until ${SESSIONS} sessions are live, s`, value: seconds.toFixed(1) })
  report({
    name: `with ${SESSIONS} sessions, MB at most`,
    value: megabytes.toFixed(0),
    target: '<= 600',
    isMet: megabytes <= 600,
  })
}

function mailOf(n: number): string {
  const head = [
    'Delivered-To: reader@gmail.test',
    'Received: from mail.example.com by mx.google.com with ESMTPS; Mon, 16 Nov 2026 10:00:00 +0000',
    'Authentication-Results: mx.google.com; dkim=pass header.i=@example.com; spf=pass smtp.mailfrom=a@example.com;',
    ' dmarc=pass (p=NONE) header.from=example.com',
    `From: Ann ${n % 97} <ann${n % 97}@example.com>`,
    'To: reader@gmail.test',
    `Subject: Matter ${n}`,
    `Message-ID: <bench-${n}@example.com>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    '',
  ].join('\r\n')
  let body = ''
  for (let line = 0; head.length + body.length < MESSAGE_BYTES; line++) {
    body += `Line ${line} of mail ${n} speaks of matter ${(n * 7919 + line) % 5000} and ends.\r\n`
  }
  return head + body
}
