// What was acknowledged or resumed stays known: the guardian asks of all of it at once what came since.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import type { World } from '../../platform/world.ts'
import { DEFAULT_RULES } from './defaults.ts'
import { evaluate } from './evaluate.ts'
import { Look, type Finding } from './find-over.ts'
import { aWatchedAccount, makeAlerts, type Watched } from './guardian.fixture.ts'
import { HourCache } from './hour-cache.ts'
import type { ScopeType } from './rule.ts'

const RULE = { metric: 'blocks', window_seconds: 7200, threshold: 5 }
const SCOPES = 60

/** As many blocks for each of these scopes. */
async function countBlocks({ count }: Watched, scopeType: ScopeType, blocks: number): Promise<void> {
  for (let n = 1; n <= SCOPES; n++) await count({ blocks }, { scopeType, scopeValue: `${scopeType}${n}` })
}

/** A pass; answers how many lists it read while it looked. */
async function statementsOfPass({ world }: Watched): Promise<number> {
  let statements = 0
  const counting = (tx: Tx): Tx =>
    new Proxy(tx, {
      get: (target, name) => {
        if (name === 'many') statements++
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value
      },
    })
  const db = new Proxy(world.db, {
    get: (target, name) => {
      if (name === 'transact')
        return ((by, recipe) => target.transact(by, tx => recipe(counting(tx)))) as World['db']['transact']
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
  assert.ok(await evaluate({ ...world, db }))
  await makeAlerts(world)
  return statements
}

test('a pass asks in a few statements what came since very many alerts were acknowledged and pauses resumed', async t => {
  const watched = await aWatchedAccount({ box: await aBox({ until: t, environment: { ROLES: 'api' } }) })
  const { world, account, saveRule, pass, alerts, pauses, advance } = watched
  await saveRule({ ...RULE, name: 'loud', scope_type: 'sender', action: 'alert' })
  await saveRule({ ...RULE, name: 'stop', scope_type: 'domain', action: 'suspend' })
  await countBlocks(watched, 'sender', 6)
  await countBlocks(watched, 'domain', 6)
  await pass()
  advance(10)
  await pass()
  assert.deepEqual([(await alerts()).length, (await pauses()).length], [2 * SCOPES, SCOPES])
  // Half of them in another minute, so that what came since begins elsewhere.
  for (const half of [0, 1]) {
    advance(60)
    await world.db.transact(system('test'), async tx => {
      const isHalf = sql`account_id = ${account.id} and right(id::text, 1) in ('0', '2', '4', '6', '8', 'a', 'c', 'e')`
      await tx.run(sql`update alerts set acked_at = ${tx.now} where acked_at is null and (${isHalf} or ${half} = 1)`)
      await tx.run(sql`
        update suspensions set status = 'resumed', resumed_at = ${tx.now}
        where status = 'active' and (${isHalf} or ${half} = 1)`)
    })
  }
  advance(1200)

  const statements = await statementsOfPass(watched)

  t.diagnostic(`${statements} statements`)
  assert.ok(statements < 40, `${statements} statements for ${2 * SCOPES} that are known`)
  assert.deepEqual([(await alerts()).length, (await pauses()).length], [2 * SCOPES, SCOPES], 'nothing is news')
  await watched.count({ blocks: 6 }, { scopeType: 'sender', scopeValue: 'sender7' })
  await watched.count({ blocks: 6 }, { scopeType: 'domain', scopeValue: 'domain9' })
  await pass()
  const news = (await alerts()).slice(2 * SCOPES).map(alert => alert.scope)
  assert.deepEqual(news.toSorted(), ['domain:domain9', 'sender:sender7'])
  assert.equal((await pauses()).at(-1)!.scope_value, 'domain9')
})

test('an account that knows more than a pass asks about is cut; the rest counts as unseen and has its turn', async () => {
  const watched = await aWatchedAccount()
  const { world, account, tenantId } = watched
  const now = world.clock.now()
  const rule = DEFAULT_RULES.find(each => each.scope_type === 'tenant')!
  const findingOf = (accountId: string, scope_value: string): Finding => ({
    rule,
    scope: { account_id: accountId, tenant_id: tenantId, scope_type: 'tenant', scope_value },
    value: 1,
    volume: 1,
    limit: 1,
    baseline: null,
    window: { from: now, to: now },
  })
  const many = Array.from({ length: 5_500 }, () => findingOf(account.id, randomUUID()))
  const other = findingOf(randomUUID(), randomUUID())
  const seen = new Set<Finding>()
  for (let pass = 0; pass < 3; pass++) {
    const look = new Look(world.db, new Date(now.getTime() + pass * 10_000), new HourCache())
    assert.equal((await look.findOverSince(new Map([...many, other].map(each => [each, now])))).size, 0)
    assert.deepEqual([...look.cutAccounts], [account.id])
    const answered = many.filter(each => look.hasSeen(each.rule, each.scope))
    assert.equal(answered.length, 5_000)
    for (const each of answered) seen.add(each)
    assert.ok(look.hasSeen(other.rule, other.scope), 'nobody else waits')
  }
  assert.equal(seen.size, many.length)
})

test('an account with ten thousand rules that are over gets no more of its own rules, and all of the platform’s', async () => {
  const watched = await aWatchedAccount()
  const { world, account, tenantId, saveRule, count, pass, fired } = watched
  const rule = await saveRule({ ...RULE, name: 'loud', scope_type: 'sender', action: 'alert' })
  const fill = (from: number, to: number) =>
    world.db.transact(system('test'), tx =>
      tx.run(sql`
        insert into guardian_states (account_id, rule_name, scope_type, scope_value, tenant_id, rule_id, action, last_over)
        select ${account.id}::uuid, 'loud', 'sender', 's' || n, ${tenantId}::uuid, ${rule.id}::uuid, 'alert', ${tx.now}
        from generate_series(${from}::integer, ${to}::integer) n`),
    )
  await fill(1, 9_999)
  await count({ blocks: 6 }, { scopeType: 'sender', scopeValue: 'one' })
  await pass()
  assert.deepEqual(await fired(), ['loud'])
  await count({ blocks: 6 }, { scopeType: 'sender', scopeValue: 'two' })
  await count({ delivered: 50, hard_bounces: 50 })
  await pass()
  assert.deepEqual(await fired(), ['loud', 'hard-bounce-rate-warning'])
})
