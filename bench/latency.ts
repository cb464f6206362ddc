// A lone POST /v1/messages against one bare commit of the same rows.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { heading, median, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const SAMPLES = 300

export async function benchLatency(): Promise<void> {
  heading(
    `Latency: one POST /v1/messages at a time, against a bare commit of the same rows (${SAMPLES} each, in turns)`,
  )
  const server = await startServer({ LOG_LEVEL: 'warn' })
  const client = await databaseClient(server)
  const bare: number[] = []
  const ours: number[] = []
  for (let n = 0; n < SAMPLES + 50; n++) {
    const [post, commit] = [await timed(() => postOne(server)), await timed(() => commitOne(client))]
    if (n < 50) continue
    ours.push(post)
    bare.push(commit)
  }
  await client.end()
  await server.stop()
  const ratio = median(ours) / median(bare)
  report({ name: 'bare commit, p50', value: `${median(bare).toFixed(2)} ms` })
  report({ name: 'POST /v1/messages, p50', value: `${median(ours).toFixed(2)} ms` })
  report({ name: 'latency, ratio', value: ratio.toFixed(2), target: '<= 4', isMet: ratio <= 4 })
}

export async function databaseClient({ dataDir }: BenchServer): Promise<pg.Client> {
  const cluster = join(dataDir, 'postgres', 'cluster')
  const host = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[4]!
  const password = (await readFile(join(cluster, 'password'), 'utf8')).trim()
  // The superuser of the embedded database: tables are filled past the rules of the service.
  const client = new pg.Client({ host, user: 'sluice', password, database: 'sluice', pipeline: true })
  await client.connect()
  return client
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}

const TEXT = `${'abcdefghi '.repeat(7)}\n`.repeat(55)

async function postOne(server: BenchServer): Promise<void> {
  const reply = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      tenant_id: server.tenantId,
      from: 'a@acme.sluice.test',
      to: ['u@example.com'],
      subject: 's',
      text: TEXT,
    }),
  })
  if (reply.status !== 202) throw new Error(await reply.text())
  await reply.arrayBuffer()
}

/** The rows of one accepted message, each in a statement of its own, sent together. Held, so that nobody delivers them. */
async function commitOne(client: pg.Client): Promise<void> {
  const id = randomUUID()
  const ids = [id, ACCOUNT, TENANT]
  await Promise.all([
    client.query('begin'),
    client.query(
      `insert into messages (id, account_id, tenant_id, sender, sender_domain, from_header, subject, rfc_message_id, tags,
         metadata, size, recipients, is_sandbox, needs_smtputf8, has_unsubscribe, created_at)
       values ($1, $2, $3, 'a@b.test', 'b.test', 'a@b.test', 's', '<x@b.test>', '[]', '{}', 4096, 1, true, false, false, now())`,
      ids,
    ),
    client.query('insert into message_bodies (message_id, source) values ($1, $2)', [id, Buffer.from(TEXT)]),
    client.query(
      `insert into deliveries (message_id, n, account_id, tenant_id, recipient, kind, status, updated_at)
       values ($1, 0, $2, $3, 'u@example.com', 'to', 'open', now())`,
      ids,
    ),
    client.query(
      `insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, accepted_at, updated_at)
       values ($1, 0, $2, $3, 'u@example.com', 'example.com', 'held', now(), now(), now())`,
      ids,
    ),
    client.query(
      `insert into events (account_id, tenant_id, message_id, recipient, type, created_at, data)
       values ($2, $3, $1, 'u@example.com', 'accepted', now(), '{}')`,
      ids,
    ),
    client.query('commit'),
  ])
}

const ACCOUNT = randomUUID()
const TENANT = randomUUID()
