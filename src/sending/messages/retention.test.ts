// Retention of bodies and metadata, and legal hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { firstIdAt } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { aBox, asSuperuser, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, readByTails, type TestAccount } from '../../../test/support/factories.ts'
import { keepWeekPartitions } from '../delivery/week-partitions.ts'
import { lockRetention } from './retention-queries.ts'
import { enforceRetention } from './retention.ts'

const DAY_MS = 86_400_000

/** Nothing is pushed here. */
const readers = { backlogs: [], findFirstUndecided: async () => null }

const enforceOn = ({ app }: Box): Promise<{ bodies: number; messages: number }> =>
  enforceRetention(app.world, readers, new AbortController().signal)

async function aDeliveredMessage(account: TestAccount): Promise<string> {
  const { body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: ['someone@example.com'],
    text: 'x',
  })
  await eventually(
    'delivered',
    async () => (await account.api.get(`/v1/messages/${body.message_id}`)).body.counts.delivered === 1,
  )
  return body.message_id
}

test('the body leaves after its days, the rest after its own, and a queued message keeps its body', async t => {
  const box = await aBox({ until: t })
  const account = await anAccount({ sandbox: true, box })
  const id = await aDeliveredMessage(account)
  const waiting = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: ['defer@example.com'],
    text: 'x',
  })
  await eventually(
    'deferred',
    async () => (await account.api.get(`/v1/messages/${waiting.body.message_id}`)).body.counts.deferred === 1,
  )
  await account.api.patch('/v1/account', { body_retention_days: 10, metadata_retention_days: 20 })

  await readByTails(box)
  await box.close()
  const later = await aBox({ until: t, databaseUrl: box.databaseUrl, environment: { ROLES: 'api' } })
  const world = later.app.world
  const enforce = () => enforceOn(later)
  later.clock.advance(9 * DAY_MS)
  assert.deepEqual(await enforce(), { bodies: 0, messages: 0 })
  later.clock.advance(2 * DAY_MS)
  assert.deepEqual(await enforce(), { bodies: 1, messages: 0 })
  const left = (await world.db.many<{ message_id: string }>(sql`select message_id from message_bodies`)).map(
    row => row.message_id,
  )
  assert.deepEqual(left, [waiting.body.message_id])
  const api = later.client(account.bearer)
  assert.equal((await api.get(`/v1/messages/${id}`)).status, 200)

  await api.patch('/v1/account', { legal_hold: true })
  later.clock.advance(30 * DAY_MS)
  assert.deepEqual(await enforce(), { bodies: 0, messages: 0 })
  await api.patch('/v1/account', { legal_hold: false })
  assert.equal((await enforce()).messages, 1)
  assert.equal((await api.get(`/v1/messages/${id}`)).status, 404)
  assert.equal((await api.get(`/v1/events?message_id=${id}`)).body.events.length, 0)
})

test('a message stays while a tail has not read what became of it', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const { db } = box.app.world
  await account.api.post('/v1/suppressions', { address: 'someone@example.com', tenant_id: account.tenant.id })
  await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: ['someone@example.com'],
    text: 'x',
  })
  box.clock.advance(400 * DAY_MS)
  assert.equal((await enforceOn(box)).messages, 0)
  await db.transact(system('test'), tx => tx.run(sql`update tails set cursor = (select max(id) from events)`))
  assert.equal((await enforceOn(box)).messages, 1)
})

test('a legal hold stops a pass that is under way', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { db } = box.app.world
  const account = await anAccount({ box })
  const isFree = async (): Promise<boolean> =>
    (await db.transact(system('test'), tx => lockRetention(tx, account.id))) !== null
  assert.equal(await isFree(), true)
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const batch = db.transact(system('test'), async tx => {
    await lockRetention(tx, account.id)
    locked.resolve()
    await end
  })
  await locked.promise
  let isHeld = false
  const hold = account.api.patch('/v1/account', { legal_hold: true }).then(() => (isHeld = true))
  await delay(100)
  assert.equal(isHeld, false, 'the hold waits for the batch')
  resolve()
  await Promise.all([batch, hold])
  assert.equal(await isFree(), false)
})

test('a pass that is under way deletes by the days of now, not by those that it began with', async t => {
  const box = await aBox({ until: t })
  const accounts = [await anAccount({ sandbox: true, box }), await anAccount({ sandbox: true, box })]
  const [first, second] = accounts.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [TestAccount, TestAccount]
  await aDeliveredMessage(first)
  const id = await aDeliveredMessage(second)
  for (const { api } of accounts) {
    await api.patch('/v1/account', { body_retention_days: 10, metadata_retention_days: 20 })
  }
  await readByTails(box)
  await box.close()
  const later = await aBox({ until: t, databaseUrl: box.databaseUrl, environment: { ROLES: 'api' } })
  const api = later.client(second.bearer)
  later.clock.advance(40 * DAY_MS)

  // The pass waits for the first account until the second one has raised its days.
  const superuser = new Client(await asSuperuser(box.databaseUrl))
  await superuser.connect()
  await superuser.query(`begin; select from accounts where id = '${first.id}' for update`)
  const pass = enforceOn(later)
  await eventually('the pass waits', async () => {
    const { rowCount } = await superuser.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount === 1
  })
  const raised = await api.patch('/v1/account', { body_retention_days: 3650, metadata_retention_days: 3650 })
  assert.equal(raised.status, 200)
  await superuser.query('commit')
  await superuser.end()

  assert.deepEqual(await pass, { bodies: 1, messages: 1 })
  assert.equal((await api.get(`/v1/messages/${id}`)).status, 200)
})

test('a batch holds few messages of many recipients, and an account that fails keeps the others from nothing', async t => {
  const box = await aBox({ until: t })
  const accounts = [await anAccount({ sandbox: true, box }), await anAccount({ sandbox: true, box })]
  for (const account of accounts) {
    for (let sent = 0; sent < 3; sent++) await aDeliveredMessage(account)
  }
  await readByTails(box)
  await box.close()
  const later = await aBox({ until: t, databaseUrl: box.databaseUrl, environment: { ROLES: 'api' } })
  const superuser = new Client(await asSuperuser(box.databaseUrl))
  await superuser.connect()
  // Each of them would fill a batch, and those of the account that comes first cannot be deleted.
  const [first] = accounts.map(({ id }) => id).toSorted()
  await superuser.query('update messages set recipients = 10000')
  await superuser.query(`
    create table batches (transaction bigint, account_id uuid);
    create function stop() returns trigger language plpgsql security definer as $$
    begin
      if old.account_id = '${first}' then raise exception 'not this one'; end if;
      insert into batches values (txid_current(), old.account_id);
      return old;
    end $$;
    create trigger stop before delete on messages for each row execute function stop();`)
  later.clock.advance(400 * DAY_MS)
  await assert.rejects(enforceOn(later), /not this one/)
  const { rows } = await superuser.query(
    'select count(*)::int, count(distinct transaction)::int as batches from batches',
  )
  await superuser.end()
  assert.deepEqual(rows, [{ count: 3, batches: 3 }])
  const left = await later.app.world.db.many<{ account_id: string }>(sql`select account_id from messages`)
  assert.deepEqual(
    left.map(row => row.account_id),
    [first, first, first],
  )
})

test('a week whose messages have all gone is dropped, one that still holds some is not', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = box.app
  const account = await anAccount({ sandbox: true, box })
  const send = async (): Promise<string> => {
    const { body } = await box.client(account.bearer).post('/v1/messages', {
      tenant_id: account.tenant.id,
      from: 'a@acme.example',
      to: ['someone@example.com'],
      text: 'x',
    })
    return body.message_id
  }
  const weekOf = async (id: string): Promise<string> => {
    const { part } = await world.db.one<{ part: string }>(
      sql`select tableoid::regclass::text as part from messages where id = ${id}`,
    )
    return part
  }
  const gone = await send()
  const goneWeek = await weekOf(gone)
  box.clock.advance(7 * DAY_MS)
  const kept = await send()
  const keptWeek = await weekOf(kept)
  assert.notEqual(goneWeek, keptWeek)
  await world.db.transact(system('test'), tx => tx.run(sql`delete from messages where id = ${gone}`))
  await keepWeekPartitions(world)
  assert.equal(await doesExist(world, goneWeek), true, 'the last week stays')
  box.clock.advance(21 * DAY_MS)
  await keepWeekPartitions(world)
  assert.equal(await doesExist(world, goneWeek), false)
  assert.equal(await doesExist(world, keptWeek), true)
  assert.equal(await weekOf(kept), keptWeek)
  assert.equal(await weekOf(await send()), `messages_${mondayOf(world.clock.now())}`)
})

test('weeks begin on Monday in UTC, also where the database has a summer time', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const superuser = new Client(await asSuperuser(box.databaseUrl))
  await superuser.connect()
  await superuser.query(`set timezone = 'Europe/Berlin'`)
  // Summer time begins on Sunday, 28 March 2027.
  for (const day of ['2027-03-22', '2027-03-29', '2027-04-05']) {
    await superuser.query(`select create_message_partitions($1, 2)`, [`${day}T12:00:00Z`])
  }
  const { rows } = await superuser.query<{ name: string; bounds: string }>(`
    select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'messages'::regclass and c.relname between 'messages_20270320' and 'messages_20270420'
    order by c.relname`)
  await superuser.end()
  const mondays = ['03-22', '03-29', '04-05', '04-12', '04-19', '04-26'].map(day => new Date(`2027-${day}T00:00:00Z`))
  assert.deepEqual(
    rows,
    mondays.slice(0, -1).map((monday, n) => ({
      name: `messages_${mondayOf(monday)}`,
      bounds: `FOR VALUES FROM ('${firstIdAt(monday)}') TO ('${firstIdAt(mondays[n + 1]!)}')`,
    })),
  )
})

const doesExist = async ({ db }: World, table: string): Promise<boolean> =>
  (await db.one<{ does: boolean }>(sql`select to_regclass(${table}) is not null as does`)).does

function mondayOf(day: Date): string {
  const monday = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY_MS)
  return monday.toISOString().slice(0, 10).replaceAll('-', '')
}
