// Billing: how fast a month of an account with many tenants is previewed, how fast the operator reads all accounts, and
// whether the memory of an export stays the same whatever its length.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { databaseClient } from './latency.ts'
import { count, heading, median, note, report } from './support/report.ts'
import { residentMegabytes, startServer, type BenchServer } from './support/server.ts'

const TENANTS = 5_000
const SAMPLES = 200
const WARM_UP = 20
const ACCOUNTS = 10_000
const TENANTS_PER_ACCOUNT = 5
const EXPORT_ROWS = 1_000_000
const EXPORT_TENANTS = Math.ceil(EXPORT_ROWS / 31)

export async function benchBilling(): Promise<void> {
  heading(`Billing: ${count(TENANTS)} tenants, each with a rate card and mail on every day of the month`)
  const server = await startServer({ LOG_LEVEL: 'warn' })
  const client = await databaseClient(server)
  const { rows } = await client.query('select account_id from tenants where id = $1', [server.tenantId])
  const accountId: string = rows[0].account_id
  await fillPreview(client, accountId)
  await measurePreview(server)
  heading(`All accounts: ${count(ACCOUNTS)} with ${TENANTS_PER_ACCOUNT} tenants each, mail on every day`)
  await fillAccounts(client)
  await measureAccounts(server)
  heading(`Export: ${count(EXPORT_ROWS)} rows of one account`)
  await fillExport(client, accountId)
  for (const format of ['csv', 'json']) await measureExport(server, format)
  await client.end()
  await server.stop()
}

async function measurePreview(server: BenchServer): Promise<void> {
  const times: number[] = []
  let bytes = 0
  for (let n = 0; n < SAMPLES + WARM_UP; n++) {
    const began = performance.now()
    const reply = await get(server, '/v1/billing/preview?month=2026-01')
    const text = await reply.text()
    if (n >= WARM_UP) times.push(performance.now() - began)
    bytes = text.length
    if (n === 0 && JSON.parse(text).lines.length !== TENANTS + 1) throw new Error('not every line is there')
  }
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
  report({ name: `preview, p50 (${count(bytes / 1024)} kB)`, value: `${median(times).toFixed(0)} ms` })
  report({ name: 'preview, p99', value: `${p99.toFixed(0)} ms`, target: '<= 200 ms', isMet: p99 <= 200 })
}

async function measureAccounts(server: BenchServer): Promise<void> {
  const token = (await readFile(join(server.dataDir, 'operator-token'), 'utf8')).trim()
  const began = performance.now()
  const pages: number[] = []
  let [seen, cursor]: [number, string | null] = [0, '']
  while (cursor !== null) {
    const started = performance.now()
    const path = `/admin/v1/billing/accounts?month=2026-01&limit=500${cursor && `&cursor=${cursor}`}`
    const reply = await fetch(server.url + path, { headers: { 'x-admin-token': token } })
    const body = (await reply.json()) as { accounts: unknown[]; next_cursor: string | null }
    pages.push(performance.now() - started)
    seen += body.accounts.length
    cursor = body.next_cursor
  }
  if (seen < ACCOUNTS) throw new Error(`${seen} accounts were seen`)
  report({ name: 'seconds for all pages', value: ((performance.now() - began) / 1000).toFixed(1) })
  report({ name: 'slowest page of 500', value: `${Math.max(...pages).toFixed(0)} ms` })
}

async function measureExport(server: BenchServer, format: string): Promise<void> {
  const before = await residentMegabytes(server.pid)
  const began = performance.now()
  const reply = await get(server, `/v1/billing/export?month=2026-03&format=${format}`)
  const [samples, newline] = [[before], 10]
  let [lines, bytes, sampled] = [0, 0, 0]
  for await (const chunk of reply.body!) {
    bytes += chunk.length
    for (const byte of chunk) if (byte === newline) lines += 1
    if (lines - sampled < EXPORT_ROWS / 50) continue
    sampled = lines
    samples.push(await residentMegabytes(server.pid))
  }
  const seconds = (performance.now() - began) / 1000
  if (lines < EXPORT_ROWS) throw new Error(`only ${lines} lines came`)
  const peak = Math.max(...samples)
  const half = samples.slice(0, samples.length / 2)
  const growth = peak - Math.max(...half)
  const value = `${count(lines / seconds)} rows/s`
  report({ name: `export as ${format}, ${count(bytes / 1024 / 1024)} MB`, value })
  note(`memory: ${samples.map(sample => sample.toFixed(0)).join(' ')} MB`)
  report({ name: 'resident before, at the peak', value: `${before.toFixed(0)} / ${peak.toFixed(0)} MB` })
  const target = '<= 20 MB'
  report({
    name: 'peak of the second half over the first',
    value: `${growth.toFixed(0)} MB`,
    target,
    isMet: growth <= 20,
  })
}

async function get(server: BenchServer, path: string): Promise<Response> {
  const reply = await fetch(server.url + path, { headers: { authorization: `Bearer ${server.bearer}` } })
  if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}`)
  return reply
}

/** Days as acceptance would have counted them, oldest first. */
const usage = (month: string, days: number, tenants: string): string =>
  `insert into usage_days (tenant_id, account_id, day, recipients, messages)
   select id, account_id, '${month}-01'::date + n, 1000 + n, 100
   from generate_series(0, ${days - 1}) as n cross join (${tenants}) as t`

async function fillPreview(client: pg.Client, accountId: string): Promise<void> {
  await client.query('set synchronous_commit = off')
  const tiers = JSON.stringify([
    { up_to_recipients: 10_000, price_per_thousand_minor: 91 },
    { up_to_recipients: 0, price_per_thousand_minor: 73 },
  ])
  await client.query(`insert into plans values
    ('00000000-0000-7000-8000-000000000001', 'Bench', 'EUR', 4900, 1000, 0, '${tiers}', null, now(), null)`)
  await addTenants(client, accountId, TENANTS - 1)
  await client.query(
    `insert into plan_assignments
     select gen_random_uuid(), account_id, tenant_id, '00000000-0000-7000-8000-000000000001', '2026-01-01', 'account', now()
     from (select account_id, id as tenant_id from tenants where account_id = $1 union all select $1, null) as t`,
    [accountId],
  )
  await client.query(usage('2026-01', 31, `select id, account_id from tenants where account_id = '${accountId}'`))
  await client.query('vacuum analyze')
}

async function fillAccounts(client: pg.Client): Promise<void> {
  await client.query(
    `insert into accounts (id, name, data_region, sandbox, created_at)
     select gen_random_uuid(), 'Bench ' || n, 'eu', true, now() from generate_series(1, ${ACCOUNTS}) as n`,
  )
  await client.query(
    `insert into tenants (id, account_id, external_id, name, created_at)
     select gen_random_uuid(), a.id, 'of-all-' || n, 'Bench', now()
     from accounts a cross join generate_series(1, ${TENANTS_PER_ACCOUNT}) as n where a.name like 'Bench %'`,
  )
  await client.query(usage('2026-01', 31, "select id, account_id from tenants where external_id like 'of-all-%'"))
  await client.query(
    `insert into plan_assignments
     select gen_random_uuid(), id, null, '00000000-0000-7000-8000-000000000001', '2026-01-01', 'operator', now()
     from accounts where name like 'Bench %'`,
  )
  await client.query('vacuum analyze')
}

/** Another month of the account, with as many tenants as it takes. */
async function fillExport(client: pg.Client, accountId: string): Promise<void> {
  await addTenants(client, accountId, EXPORT_TENANTS)
  await client.query(usage('2026-03', 31, `select id, account_id from tenants where account_id = '${accountId}'`))
  await client.query('vacuum analyze')
}

const addTenants = (client: pg.Client, accountId: string, tenants: number): Promise<unknown> =>
  client.query(
    `insert into tenants (id, account_id, external_id, name, created_at)
     select gen_random_uuid(), $1, 'bench-' || gen_random_uuid(), 'Bench tenant ' || n, now()
     from generate_series(1, ${tenants}) as n`,
    [accountId],
  )
