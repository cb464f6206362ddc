// What a look at the logins of a scope reads is bounded.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aQuietBox, logins } from './guardian.fixture.ts'
import { listAddressHistories, listDistinctAddresses } from './login-queries.ts'
import type { Scope } from './rule.ts'

test('of a credential or tenant that logs in from everywhere the newest 10,000 rows are read', async () => {
  const { world } = (await aQuietBox()).app
  const [accountId, tenantId, loud, calm] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  await logins(world, { accountId, tenantId, credentialId: calm, secondsAgo: 600 }, 7)
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
      select ${loud}::uuid, date_trunc('minute', ${tx.now}::timestamptz) - m * interval '1 minute',
        case when m = 100 then 'old' else 'new' end || n, ${accountId}::uuid, ${tenantId}::uuid
      from generate_series(0, 100) m, generate_series(1, 100) n`),
  )
  const now = world.clock.now()
  const from = new Date(now.getTime() - 7_200_000)
  const count = (scope_type: Scope['scope_type'], values: string[]) =>
    listDistinctAddresses(
      world.db,
      scope_type,
      values.map(scope_value => ({
        scope: { account_id: accountId, tenant_id: tenantId, scope_type, scope_value },
        from,
      })),
      now,
    )
  assert.deepEqual(await count('credential', [loud, calm, randomUUID()]), [100, 7, 0])
  assert.deepEqual(await count('tenant', [tenantId]), [107])
  assert.deepEqual(await count('sender', ['a@example.com']), [0])
})

test('an average of logins counts silent days, and where more are known than are read, takes the rest to be alike', async () => {
  const { world } = (await aQuietBox()).app
  const [accountId, tenantId, seldom, loud] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const HOUR = 3600
  await logins(world, { accountId, tenantId, credentialId: seldom, secondsAgo: 7.9 * 24 * HOUR }, 9)
  await logins(world, { accountId, tenantId, credentialId: seldom, secondsAgo: 50 * HOUR }, 12)
  // 30 addresses in every minute of 48 hours: 86,400 rows.
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
      select ${loud}::uuid, date_trunc('hour', ${tx.now}::timestamptz) - m * interval '1 minute', 'a' || n,
        ${accountId}::uuid, ${tenantId}::uuid
      from generate_series(1, 2880) m, generate_series(1, 30) n`),
  )
  const now = world.clock.now()
  const scopes = [seldom, loud, randomUUID()].map((scope_value): Scope => ({
    account_id: accountId,
    tenant_id: tenantId,
    scope_type: 'credential',
    scope_value,
  }))
  const window = { from: now, to: now }
  const histories = await listAddressHistories(world.db, 'credential', scopes, { window, windowSeconds: HOUR })
  const means = histories.map(each => each && (each.counters.distinct_ips * HOUR) / each.seconds)
  assert.equal(histories[0]!.seconds, 7 * 24 * HOUR)
  assert.equal(means[0], 12 / 168)
  assert.equal(histories[1]!.seconds, 48 * HOUR)
  assert.ok(Math.abs(means[1]! - 30) < 2, String(means[1]))
  assert.equal(means[2], null)
})
