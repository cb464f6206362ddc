// The service over a pooler that gives every transaction another session.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { aBox, aClone, aDatabase } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { aTransactionPooler } from '../../../test/support/transaction-pooler.ts'
import { system } from './actor.ts'
import { migrate, readMigrations } from './migrate.ts'
import { findPooling } from './pooling.ts'
import { sql } from './sql.ts'

const undo: (() => Promise<unknown>)[] = []
after(async () => {
  for (const each of undo.toReversed()) await each()
})

async function aPooled(url: string): Promise<string> {
  const pooler = await aTransactionPooler(url)
  undo.push(pooler.close)
  return pooler.url
}

async function ask<T>(url: string, question: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return question(client).finally(() => client.end())
}

test('a pooler is told from PostgreSQL itself', async () => {
  const direct = await aDatabase()

  assert.deepEqual(await ask(direct, findPooling), { isPooled: false, keepsNamedStatements: true })
  assert.deepEqual(await ask(await aPooled(direct), findPooling), { isPooled: true, keepsNamedStatements: false })
})

test('processes that start together through a pooler migrate once, and leave no lock behind', async () => {
  const database = await aClone('template0')
  undo.push(database.drop)
  const pooled = await aPooled(database.url)
  const migrations = await readMigrations()

  const applied = await Promise.all([1, 2, 3].map(() => migrate(pooled, migrations)))

  const names = applied.flat().toSorted()
  assert.deepEqual(
    names,
    migrations.map(({ name }) => name),
  )
  const { rows } = await ask(database.url, client =>
    client.query(
      `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    ),
  )
  assert.equal(rows.length, 0)
})

test('mail is accepted and delivered through a pooler', async t => {
  const direct = await aDatabase()
  const box = await aBox({ until: t, databaseUrl: await aPooled(direct) })
  const account = await box.operator.post('/admin/v1/accounts', { name: 'Pooled', sandbox: true })
  const api = box.client(account.body.api_key.secret)
  const tenant = await api.post('/v1/tenants', { external_id: 'pooled', name: 'Pooled' })
  await api.post(`/v1/tenants/${tenant.body.id}/domains`, { name: 'pooled.sluice.test' })
  const send = (n: number) =>
    api.post('/v1/messages', {
      tenant_id: tenant.body.id,
      from: 'hello@pooled.sluice.test',
      to: [`someone.${n}@example.com`],
      subject: 'Hello',
      text: 'Through a pooler.',
    })

  const accepted = [await send(1), ...(await Promise.all([2, 3, 4, 5, 6, 7, 8].map(send)))]

  assert.deepEqual(
    accepted.map(reply => reply.status),
    Array(8).fill(202),
  )
  await eventually('delivered', async () => {
    const { body } = await api.get('/v1/events?type=delivered&limit=50')
    return body.events.length === 8
  })
})

test('a session of the pooler keeps nothing of ours', async t => {
  const direct = await aDatabase()
  const box = await aBox({ until: t, databaseUrl: await aPooled(direct) })
  const show = sql`select current_setting('statement_timeout') as ms`

  const inside = await box.app.world.db.transact(system('test'), tx => tx.one<{ ms: string }>(show))

  assert.equal(inside.ms, '9500ms')
  for (let n = 0; n < 4; n++) assert.equal((await box.app.world.db.one<{ ms: string }>(show)).ms, '0')
  const kept = sql`select name from pg_prepared_statements union all select pg_listening_channels()`
  for (let n = 0; n < 4; n++) assert.deepEqual(await box.app.world.db.many(kept), [])
})

test('without a pooler the limits are those of the session', async t => {
  const box = await aBox({ until: t })
  const { ms } = await box.app.world.db.one<{ ms: string }>(sql`select current_setting('statement_timeout') as ms`)

  assert.equal(ms, '9500ms')
})
