// The database goes away and comes back: callers are told to wait, the process stays, and it is ready again by itself.
// Waits more than it works.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import pg from 'pg'
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { aBox, type Box } from '../support/box.ts'
import { anAccount, eventually } from '../support/factories.ts'

const undo: (() => Promise<void>)[] = []
after(async () => {
  for (const each of undo.toReversed()) await each()
})

async function aBoxOnItsOwnDatabase(
  settings: Record<string, string> = {},
): Promise<{ box: Box; postgres: EmbeddedPostgres; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-loss-'))
  const postgres = await startEmbeddedPostgres({
    folder: join(folder, 'postgres'),
    log: () => {},
    settings: { shared_buffers: '32MB', ...settings },
  })
  await migrate(postgres.url, await readMigrations())
  const box = await aBox({ databaseUrl: postgres.url })
  undo.push(async () => {
    await box.close()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  })
  return { box, postgres, folder }
}

const postmasterOf = async (folder: string): Promise<number> =>
  Number((await readFile(join(folder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0])

test('PostgreSQL killed under load: 503 with Retry-After, ready again within 10 s, nothing acknowledged is lost', async () => {
  const { box, folder } = await aBoxOnItsOwnDatabase()
  const { api } = await anAccount({ box })
  const acknowledged: string[] = []
  const statuses = new Map<number, number>()
  let isOver = false
  const callers = Array.from({ length: 8 }, async (_, caller) => {
    for (let n = 0; !isOver; n++) {
      const external_id = `${caller}-${n}`
      const { status } = await api.post('/v1/tenants', { external_id, name: 'Load' })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 201) acknowledged.push(external_id)
      else await new Promise(resolve => setTimeout(resolve, 20))
    }
  })
  await eventually('some are in', async () => acknowledged.length > 50)
  const before = acknowledged.length

  process.kill(await postmasterOf(folder), 'SIGKILL')
  const killedAt = performance.now()
  await eventually('callers are told to wait', async () => statuses.has(503))
  await eventually(
    'ready again',
    async () => (await box.client().get('/readyz')).status === 200 && acknowledged.length > before + 50,
  )
  const backAfterMs = performance.now() - killedAt
  isOver = true
  await Promise.all(callers)

  assert.ok(backAfterMs < 10_000, `took ${Math.round(backAfterMs)} ms`)
  assert.deepEqual([...statuses.keys()].toSorted(), [201, 503])
  const client = new pg.Client({ connectionString: box.databaseUrl })
  await client.connect()
  const { rows } = await client.query('select external_id from tenants')
  await client.end()
  const stored = new Set(rows.map(row => row.external_id))
  assert.deepEqual(
    acknowledged.filter(id => !stored.has(id)),
    [],
  )
  assert.equal((await box.operator.get('/admin/v1/audit/verify')).body.intact, true)
})

test('a database that does not keep what it acknowledges is not ready to be used', async () => {
  const { box } = await aBoxOnItsOwnDatabase({ fsync: 'off', full_page_writes: 'off' })
  const { status, body } = await box.client().get('/readyz')
  assert.equal(status, 503)
  assert.equal(body.checks.durability, 'fsync is off, full_page_writes is off')
})

test('/readyz says what is wrong: asynchronous commit, clock skew, migrations pending', async () => {
  const { box, postgres } = await aBoxOnItsOwnDatabase()
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const notReadyBecause = (reason: RegExp) =>
    eventually(`not ready: ${reason}`, async () => {
      const { status, body, headers } = await box.client().get('/readyz')
      return status === 503 && headers.get('retry-after') && reason.test(body.error.message)
    })
  const ready = () => eventually('ready', async () => (await box.client().get('/readyz')).status === 200)
  await ready()

  await client.query('alter database sluice set synchronous_commit to off')
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice'`)
  await notReadyBecause(/durability \(synchronous_commit is off\)/)
  await client.query('alter database sluice reset synchronous_commit')
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice'`)
  await ready()

  box.clock.skew(6_000)
  await notReadyBecause(/clock \(differs from the database's by 6 s\)/)
  box.clock.skew(0)
  await ready()

  await client.query(`update migrations set name = 'elsewhere' where name = '0001_foundation.sql'`)
  await notReadyBecause(/migrations \(pending: 0001_foundation\.sql\)/)
  await client.query(`update migrations set name = '0001_foundation.sql' where name = 'elsewhere'`)
  await ready()
  await client.end()
})
