// Acceptance and the locks it shares with pauses, releases and large messages: nobody waits in a circle, and a tenant's
// locked counters delay that tenant alone. The locks of others are taken here by hand.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { lockAccountExclusively, lockAccountsShared } from '../../control/suspensions/locks.ts'
import { locks } from '../../platform/db/locks.ts'
import type { Tx } from '../../platform/db/database.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { reserveRanks } from './ranks.ts'

const UNLIMITED_RATE = 1_000_000

let shared: Promise<Box> | null = null
/** Without deliveries, which would take the same locks. */
const aQuietBox = (): Promise<Box> => (shared ??= aBox({ environment: { ROLES: 'api' } }))

const aSender = async (): Promise<TestAccount> => anAccount({ box: await aQuietBox(), sandbox: true })

async function aLimited(fields: object = { rate_per_minute: UNLIMITED_RATE }): Promise<TestAccount> {
  const account = await aSender()
  const { status } = await account.api.patch(`/v1/tenants/${account.tenant.id}`, fields)
  assert.equal(status, 200)
  // The first message makes the counters.
  await send(account)
  return account
}

const send = ({ api, tenant }: TestAccount, to: readonly string[] = ['someone@example.com']) =>
  api.post('/v1/messages', { tenant_id: tenant.id, from: 'hello@acme.example', to, text: 'Hello.' })

const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `someone.${n}@example.com`)

/** A transaction of somebody else that has locked what `take` takes, until it is ended. */
async function aHolder(t: TestContext, { box }: TestAccount, take: (tx: Tx) => Promise<unknown>) {
  const { db } = box.app.world
  const ended = Promise.withResolvers<void>()
  const taken = Promise.withResolvers<void>()
  const done = db.transact(system('test'), async tx => {
    await take(tx)
    taken.resolve()
    await ended.promise
  })
  done.catch(taken.reject)
  const end = async (): Promise<void> => {
    ended.resolve()
    await done
  }
  t.after(end)
  return { taken: taken.promise, end }
}

const lockCounters = (tenantId: string) => (tx: Tx) =>
  tx.many(sql`select from tenant_counters where tenant_id = ${tenantId} for no key update`)

/** How many wait for an advisory lock in this mode, in this database. */
async function waitersFor({ box }: TestAccount, mode: 'ShareLock' | 'ExclusiveLock'): Promise<number> {
  const { count } = await box.app.world.db.one<{ count: number }>(sql`
    select count(*) as count from pg_locks
    where locktype = 'advisory' and mode = ${mode} and not granted
      and database = (select oid from pg_database where datname = current_database())`)
  return count
}

const soon = async <T>(what: string, promise: Promise<T>): Promise<T> => {
  const timeout = AbortSignal.timeout(4_000)
  return Promise.race([
    promise,
    new Promise<never>((_, reject) => timeout.addEventListener('abort', () => reject(new Error(`not soon: ${what}`)))),
  ])
}

test('an acceptance that waits behind a pause holds no counters, which the release that the pause waits for needs', async t => {
  const account = await aLimited()
  const release = await aHolder(t, account, tx => lockAccountsShared(tx, [account.id]))
  await release.taken
  const pause = await aHolder(t, account, tx => lockAccountExclusively(tx, account.id))
  await eventually('the pause waits', async () => (await waitersFor(account, 'ExclusiveLock')) === 1)
  const acceptance = send(account)
  await eventually('the acceptance waits', async () => (await waitersFor(account, 'ShareLock')) === 1)

  const ranks = await soon('ranks', reserveRanks(account.box.app.world, new Map([[account.tenant.id, 1]])))

  assert.equal(ranks.size, 1)
  await release.end()
  await pause.end()
  assert.equal((await acceptance).status, 202)
})

test('a small message of a tenant whose counters are locked waits alone, and is accepted after', async t => {
  const [busy, free, limited] = await Promise.all([aLimited(), aSender(), aLimited()])
  const holder = await aHolder(t, busy, lockCounters(busy.tenant.id))
  await holder.taken
  let isWaiting = true
  const waiting = send(busy).finally(() => (isWaiting = false))

  const others = await soon('others', Promise.all([send(free), send(limited), send(free), send(limited)]))
  const after = await soon('more of others', Promise.all([send(free), send(limited)]))

  assert.deepEqual([...new Set([...others, ...after].map(reply => reply.status))], [202])
  assert.ok(isWaiting)
  await holder.end()
  assert.equal((await waiting).status, 202)
})

test('a small message of an account that is being paused waits alone, and is accepted after', async t => {
  const [paused, free] = await Promise.all([aSender(), aSender()])
  const pause = await aHolder(t, paused, tx => lockAccountExclusively(tx, paused.id))
  await pause.taken
  let isWaiting = true
  const waiting = Promise.all([send(paused), send(paused)]).finally(() => (isWaiting = false))

  const others = await soon('others', Promise.all([send(free), send(free)]))
  const after = await soon('more of others', send(free))

  assert.deepEqual([...new Set([...others, after].map(reply => reply.status))], [202])
  assert.ok(isWaiting)
  await pause.end()
  assert.deepEqual([...new Set((await waiting).map(reply => reply.status))], [202])
})

test('a tenant without limits sends small messages while its large one waits to be appended', async t => {
  const account = await aSender()
  await send(account)
  const append = await aHolder(t, account, tx => tx.many(sql`select pg_advisory_xact_lock(${locks.largeAppend})`))
  await append.taken
  const large = send(account, many(500))
  await eventually('the large one waits', async () => (await waitersFor(account, 'ExclusiveLock')) === 1)

  const small = await soon('a small one', send(account))

  assert.equal(small.status, 202)
  await append.end()
  assert.equal((await large).status, 202)
})

test('small and large messages at once reach a quota exactly and do not pass it', async () => {
  const account = await aLimited({ quota_daily: 1_001 })
  const replies = await Promise.all([
    ...Array.from({ length: 60 }, () => send(account, many(15))),
    ...Array.from({ length: 3 }, () => send(account, many(100))),
    ...Array.from({ length: 60 }, () => send(account)),
  ])
  for (let status = 202; status === 202;) status = (await send(account)).status

  assert.ok(replies.some(reply => reply.status !== 202))
  const { count } = await account.box.app.world.db.one<{ count: number }>(sql`
    select sum(recipients)::integer as count from messages where tenant_id = ${account.tenant.id}`)
  assert.equal(count, 1_001)
})
