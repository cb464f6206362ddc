// Many drafts that fall due in the same second, over two server processes: how soon the last has left its mailbox, that each
// left once, and that none was early. Recipients meet the simulator, so that nothing but this is measured.
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { databaseClient } from './latency.ts'
import { cpuMilliseconds } from './support/cpu.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const DRAFTS = 10_000
const INBOXES = 20
const LEAD_MS = 5_000
const SECONDS_MAX = 60
const SECRET_KEY = 'bench-secret-key-0123456789-0123456789'

const TEXT = `${'abcdefghi '.repeat(7)}\n`.repeat(20)
/** HTML is sanitised in a thread before it leaves. */
const BODIES = { text: { text: TEXT }, HTML: { html: `<p>${TEXT}</p>` } }

export async function benchDrafts(): Promise<void> {
  for (const [kind, body] of Object.entries(BODIES)) await measure(kind, body)
}

async function measure(kind: string, body: object): Promise<void> {
  heading(`drafts: ${count(DRAFTS)} of ${kind} due in the same second, two server processes`)
  const server = await startServer({ SECRET_KEY, LOG_LEVEL: 'error' })
  const client = await databaseClient(server)
  const { host, user, password, database } = client
  const login = `${encodeURIComponent(user!)}:${encodeURIComponent(String(password))}`
  const url = `postgres://${login}@/${database}?host=${encodeURIComponent(host)}`
  const second = await startServer({ SECRET_KEY, LOG_LEVEL: 'error', DATABASE_URL: url })
  const dueAt = await schedule(server, client, body)
  const cpuOf = () => cpuMilliseconds(server) + cpuMilliseconds({ ...server, pid: second.pid }, { isAlone: true })
  const before = cpuOf()
  const left = 'select count(*)::int as count from drafts where scheduled_at is not null'
  const deadline = dueAt.getTime() + 4 * SECONDS_MAX * 1_000
  while (Date.now() < deadline && (await client.query(left)).rows[0].count > 0) await delay(100)
  const seconds = (Date.now() - dueAt.getTime()) / 1_000
  const cpuMs = (cpuOf() - before) / DRAFTS
  const { rows } = await client.query(
    `select count(*)::int as sent, count(distinct d.recipient)::int as recipients,
       (count(*) filter (where m.created_at < $1))::int as early
     from deliveries d join messages m on m.id = d.message_id where d.recipient like 'due-%'`,
    [dueAt],
  )
  await client.end()
  await second.stop()
  await server.stop()
  const { sent, recipients, early } = rows[0] as Record<'sent' | 'recipients' | 'early', number>
  report({
    name: 'the last of them has left',
    value: `${seconds.toFixed(1)} s`,
    target: `<= ${SECONDS_MAX} s`,
    isMet: seconds <= SECONDS_MAX,
  })
  report({ name: 'drafts/s', value: count(DRAFTS / seconds) })
  report({ name: 'ms of CPU each, of both processes and the database', value: cpuMs.toFixed(2) })
  const isOnce = sent === DRAFTS && recipients === DRAFTS
  report({ name: 'sent, to as many recipients', value: `${sent} / ${recipients}`, target: 'each once', isMet: isOnce })
  report({ name: 'early', value: String(early), target: '0', isMet: early === 0 })
}

/** One is made by the API; the others are copies of it, with recipients of their own. */
async function schedule(server: BenchServer, client: pg.Client, content: object): Promise<Date> {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Drafts', sandbox: true })
  const bearer: string = created.api_key.secret
  const post = async (path: string, fields: object) => {
    const reply = await apiFetch(server, path, fields, bearer)
    if (reply.status >= 300) throw new Error(JSON.stringify(reply.body))
    return reply.body
  }
  const tenant = await post('/v1/tenants', { external_id: 'drafts', name: 'Drafts' })
  const domain = await post(`/v1/tenants/${tenant.id}/domains`, { name: 'drafts.sluice.test' })
  await post(`/v1/domains/${domain.id}/inbound`, { enabled: true })
  const inboxIds: string[] = []
  for (let n = 0; n < INBOXES; n++) {
    const inbox = await post(`/v1/tenants/${tenant.id}/inboxes`, { domain_id: domain.id, local_part: `box${n}` })
    inboxIds.push(inbox.id)
  }
  const model = { to: ['model@example.com'], subject: 'Due', ...content, send_at: new Date(Date.now() + 3_600_000) }
  const { draft } = await post(`/v1/inboxes/${inboxIds[0]}/drafts`, model)
  const dueAt = new Date(Date.now() + LEAD_MS)
  await client.query(
    `insert into drafts (id, account_id, tenant_id, inbox_id, to_list, subject, text, html, scheduled_at, due_at, requested_by,
       created_at, updated_at)
     select gen_random_uuid(), account_id, tenant_id, ($2::uuid[])[1 + n % $3], array['due-' || n || '@example.com'],
       subject || ' ' || n, text, html, $4::timestamptz, $4::timestamptz, requested_by, created_at, updated_at
     from drafts, generate_series(1, $5::int) as n where id = $1`,
    [draft.id, inboxIds, INBOXES, dueAt, DRAFTS],
  )
  await client.query('delete from drafts where id = $1', [draft.id])
  await client.query('analyze drafts')
  return dueAt
}
