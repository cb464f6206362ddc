// What the figures of connected mailboxes are taken with: a database, a Dovecot as the provider, and the mirrors in a process of
// their own.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { hasPackage } from '../../test/support/programs/debian.ts'
import { startDovecot, type Dovecot } from '../../test/support/programs/dovecot.ts'
import { note } from './report.ts'

export interface Site {
  db: pg.Client
  dovecot: Dovecot
  /** Of the database too. */
  dataDir: string
  startHost(): Promise<ChildProcess>
}

/** Not where Dovecot cannot be had. */
export async function withSite(measure: (site: Site) => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return note('Dovecot needs root to drop its rights: no such peer for these figures')
  if (!hasPackage('dovecot-imapd', ['dovecot'])) return
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => {} })
  await migrate(postgres.url, await readMigrations())
  const dovecot = await startDovecot()
  const db = new pg.Client({ connectionString: postgres.url })
  await db.connect()
  await makeAccount(db)
  const hosts: ChildProcess[] = []
  const startHost = async (): Promise<ChildProcess> => {
    const host = await spawnHost(postgres.url, dovecot.server.port)
    hosts.push(host)
    return host
  }
  try {
    await measure({ db, dovecot, dataDir: folder, startHost })
  } finally {
    for (const host of hosts) await kill(host)
    await db.end()
    await dovecot.stop()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function spawnHost(databaseUrl: string, port: number): Promise<ChildProcess> {
  const host = spawn(
    process.execPath,
    ['--max-semi-space-size=8', 'test/support/mirror-host.ts', databaseUrl, String(port)],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, MALLOC_ARENA_MAX: '2' } },
  )
  await once(host.stdout, 'data')
  return host
}

export async function kill(host: ChildProcess): Promise<void> {
  if (host.exitCode !== null || host.signalCode !== null) return
  host.kill('SIGKILL')
  await once(host, 'exit')
}

const ACCOUNT = '00000000-0000-7000-8000-000000000001'

async function makeAccount(db: pg.Client): Promise<void> {
  await db.query(
    `insert into accounts (id, name, data_region, sandbox, created_at) values ('${ACCOUNT}', 'a', 'eu', true, now())`,
  )
  await db.query(`insert into tenants (id, account_id, external_id, name, created_at)
    values ('${ACCOUNT}', '${ACCOUNT}', 't', 't', now())`)
}

/** An inbox for each of the users, connected. */
export async function connect(db: pg.Client, users: readonly string[]): Promise<void> {
  await db.query(
    `with made as (
       insert into inboxes (id, account_id, tenant_id, address, local_part, provider, created_at)
       select gen_random_uuid(), '${ACCOUNT}', '${ACCOUNT}', u, u, 'google', now() from unnest($1::text[]) u returning id
     )
     insert into folders (id, inbox_id, name, name_key, is_system, created_at)
     select gen_random_uuid(), id, name, name, true, now()
     from made, unnest(array['inbox', 'sent', 'archive', 'spam', 'trash']) as name`,
    [users],
  )
  await db.query(
    `insert into connections (inbox_id, account_id, tenant_id, provider, address, state, connected_at, due_at)
     select i.id, i.account_id, i.tenant_id, 'google', i.address, 'syncing', now(), now() from inboxes i where i.address = any($1)`,
    [users],
  )
}

export async function untilLive(db: pg.Client, sessions: number): Promise<void> {
  const asked = `select count(*) as n from connections where state = 'live'`
  while (Number((await db.query<{ n: string }>(asked)).rows[0]!.n) < sessions) await delay(50)
}

export const filed = async (db: pg.Client): Promise<number> =>
  Number((await db.query<{ n: string }>('select count(*) as n from inbox_messages')).rows[0]!.n)

/** As Google hands it on, filled up to so many bytes. */
export function mailOf(n: number, bytes: number): string {
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
  let body = `This is mail ${n}.\r\n`
  for (let line = 0; head.length + body.length < bytes; line++) {
    body += `Line ${line} of mail ${n} speaks of matter ${(n * 7919 + line) % 5000} and ends.\r\n`
  }
  return head + body
}
