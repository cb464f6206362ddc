// Legal hold against the batches of retention that are under way.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, asSuperuser, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'

const LONG_AGO = new Date('2020-01-01T00:00:00Z')
/** Known to the test and to the trigger. */
const LOCK = 4_711

interface Kept {
  worker: string
  table: string
  insert(tx: Tx, account: TestAccount): Promise<unknown>
}

const insertAlert = async (tx: Tx, { id }: TestAccount): Promise<string> => {
  const alertId = randomUUID()
  await tx.run(sql`
    insert into alerts (id, account_id, kind, severity, title, data, created_at)
    values (${alertId}, ${id}, 'rule', 'critical', 'Evidence', '{}', ${LONG_AGO})`)
  return alertId
}

const counters = sql`recipients, delivered, hard_bounces, soft_bounces, blocks, deferrals, complaints, auth_failures`

const KEPT: readonly Kept[] = [
  { worker: 'alert-retention', table: 'alerts', insert: insertAlert },
  {
    worker: 'alert-retention',
    table: 'alert_notifications',
    insert: async (tx, account) => {
      const [alertId, contactId] = [await insertAlert(tx, account), randomUUID()]
      await tx.run(sql`
        insert into alert_contacts (id, account_id, channel, target, min_severity, created_at)
        values (${contactId}, ${account.id}, 'email', 'a@example.com', 'info', ${LONG_AGO})`)
      await tx.run(sql`
        insert into alert_notifications (id, alert_id, contact_id, status, due_at, updated_at)
        values (${randomUUID()}, ${alertId}, ${contactId}, 'delivered', ${LONG_AGO}, ${LONG_AGO})`)
    },
  },
  ...[sql`metric_minutes`, sql`metric_hours`].map((table, n) => ({
    worker: 'metrics-retention',
    table: n === 0 ? 'metric_minutes' : 'metric_hours',
    insert: (tx: Tx, { id, tenant }: TestAccount) =>
      tx.run(sql`
        insert into ${table} (account_id, scope_type, scope_value, tenant_id, start, ${counters})
        values (${id}, 'account', ${id}, ${tenant.id}, ${LONG_AGO}, 1, 1, 1, 1, 1, 1, 1, 1)`),
  })),
  {
    worker: 'metrics-retention',
    table: 'metric_activity',
    insert: (tx, { id, tenant }) =>
      tx.run(sql`
        insert into metric_activity (account_id, scope_type, scope_value, tenant_id, counted_at)
        values (${id}, 'account', ${id}, ${tenant.id}, ${LONG_AGO})`),
  },
  {
    worker: 'login-addresses-retention',
    table: 'credential_addresses',
    insert: (tx, { id, tenant }) =>
      tx.run(sql`
        insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
        values (${randomUUID()}, ${LONG_AGO}, '192.0.2.1', ${id}, ${tenant.id})`),
  },
  {
    worker: 'webhook-retention',
    table: 'webhook_attempts',
    insert: async (tx, { id }) => {
      const webhookId = randomUUID()
      await tx.run(sql`
        insert into webhooks (id, account_id, url, event_types, status, secret, after_event_id, created_at)
        values (${webhookId}, ${id}, 'http://127.0.0.1:1/', '{}', 'disabled', '', 0, ${LONG_AGO})`)
      await tx.run(sql`
        insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, created_at, updated_at)
        values (${webhookId}, 1, 'accepted', 'dead', 1, 1, ${LONG_AGO}, ${LONG_AGO})`)
    },
  },
]

function runWorker({ app }: Box, name: string): Promise<unknown> {
  const worker = app.workers.find(each => each.name === name)
  assert.ok(worker?.kind === 'periodic')
  return worker.run(app.world, new AbortController().signal)
}

for (const { worker, table, insert } of KEPT) {
  test(`a hold that comes while ${table} are removed waits for the batch; one that has answered stops the next`, async () => {
    const box = await aBox({ environment: { ROLES: 'api' } })
    const { db } = box.app.world
    const account = await anAccount({ box })
    const add = () => db.transact(system('test'), tx => insert(tx, account))
    const superuser = new Client(await asSuperuser(box.databaseUrl))
    await superuser.connect()
    const left = async () => (await superuser.query(`select count(*)::int as count from ${table}`)).rows[0].count
    await superuser.query(`
      create function wait() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(${LOCK}); return old; end $$;
      create trigger wait before delete on ${table} for each row execute function wait();
      select pg_advisory_lock(${LOCK})`)
    await add()

    const batch = runWorker(box, worker)
    await eventually('the batch is under way', async () => {
      const { rows } = await superuser.query(`select from pg_locks where locktype = 'advisory' and not granted
        and objid = ${LOCK} and database = (select oid from pg_database where datname = current_database())`)
      return rows.length > 0
    })
    let isAnswered = false
    const hold = account.api.patch('/v1/account', { legal_hold: true }).then(() => (isAnswered = true))
    await delay(150)
    assert.equal(isAnswered, false, 'the hold waits for the batch')
    await superuser.query(`select pg_advisory_unlock(${LOCK})`)
    await Promise.all([batch, hold])
    assert.equal(await left(), 0)

    await add()
    await runWorker(box, worker)
    assert.equal(await left(), 1)
    await superuser.end()
  })
}
