// Leased work over a table made here: a new worker is a declaration of about thirty lines, and the machine does the rest.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { system } from '../db/actor.ts'
import type { Database } from '../db/database.ts'
import { unavailable } from '../db/errors.ts'
import { prepared, sql } from '../db/sql.ts'
import { createMetrics } from '../metrics.ts'
import type { World } from '../world.ts'
import { LeasedTable, leasing } from './leased-table.ts'
import { isAsked, type LeasedWork, type WorkLimits } from './leased-work.ts'
import { LeasedWorker } from './leased-worker.ts'
import { LoadShedder } from './load-shedder.ts'
import { retryDelayMs } from './retry-delay.ts'

interface Job {
  id: string
  n: number
  host: string
  host_id: string
  account: string
  account_id: string
  attempts: number
  was_due_at: Date
}

type Result = { kind: 'done' } | { kind: 'failed'; delayMs: number | null }

const LIMITS: WorkLimits = {
  inFlight: { all: 100, new: 100, slow: 50 },
  perKey: { first: 2, max: 4, aheadMax: 4, quickMs: 1_000 },
  whileCallersWait: { claimMax: 3, everyMs: 60_000 },
}

/** The whole of a new worker, but for its table and its act. */
const scheduledJobs = (act: (job: Job) => Promise<void>, limits = LIMITS): LeasedWork<Job, Result> => ({
  name: 'scheduled-jobs',
  metric: 'scheduled_jobs',
  wakeOn: 'attempts',
  pollSeconds: 1,
  leaseMs: 30_000,
  limits,
  transactions: 'durable',
  claim: (tx, { limit, asked, ...lease }) =>
    tx.many<Job>(prepared`
      with due as (
        select id, due_at from jobs where status = 'pending' and due_at <= ${tx.now}
          and ${isAsked(asked, { key: sql`host_id`, account: sql`account_id` })}
        order by due_at, n limit ${limit} for update skip locked
      )
      update jobs j set ${leasing(lease)} from due where j.id = due.id
      returning j.id, j.n, j.host, j.host_id, j.account, j.account_id, j.attempts, due.due_at as was_due_at`),
  keyOf: job => ({ key: job.host_id, accountId: job.account_id }),
  attempt: job => act(job).then(() => ({ kind: 'done' })),
  failed: job => ({ kind: 'failed', delayMs: retryDelayMs([10_000, 60_000], job.attempts) }),
  outcomeOf: ({ result }) => result.kind,
  record: async (tx, ended) => {
    const rows = ended.map(({ item, result }) => {
      const delayMs = result.kind === 'failed' ? result.delayMs : null
      const status = result.kind === 'done' ? 'done' : delayMs === null ? 'dead' : 'pending'
      return { ...item, status, due_at: new Date(tx.now.getTime() + (delayMs ?? 0)) }
    })
    await tx.run(sql`
      update jobs j set status = o.status, due_at = o.due_at, lease_token = null
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as o (id uuid, "leaseToken" uuid, status text, due_at timestamptz)
      where j.id = o.id and j.lease_token = o."leaseToken"`)
    return ended
  },
  leases: new LeasedTable(sql`jobs`, 'id'),
})

interface Site {
  box: Box
  world: World
  add(host: string, count: number): Promise<void>
  rows(): Promise<{ status: string; attempts: number; due_at: Date; is_leased: boolean }[]>
  worker(act: (job: Job) => Promise<void>, change?: Partial<World>, limits?: WorkLimits): LeasedWorker<Job, Result>
}

async function aSite(): Promise<Site> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  const { world } = box.app
  const by = system('test')
  await world.db.transact(by, tx =>
    tx.run(sql`
      create table jobs (id uuid primary key default gen_random_uuid(), n serial, host text not null,
        account text not null, host_id uuid generated always as (md5(host)::uuid) stored,
        account_id uuid generated always as (md5(account)::uuid) stored, status text not null, attempts smallint not null default 0, due_at timestamptz not null,
        lease_token uuid)`),
  )
  return {
    box,
    world,
    add: async (host, count) => {
      await world.db.transact(by, tx =>
        tx.run(sql`
          insert into jobs (host, account, status, due_at)
          select ${host}, ${`account of ${host}`}, 'pending', ${tx.now} from generate_series(1, ${count})`),
      )
    },
    rows: () =>
      world.db.many(sql`select status, attempts, due_at, lease_token is not null as is_leased from jobs order by n`),
    worker: (act, change = {}, limits = LIMITS) =>
      new LeasedWorker({ ...world, metrics: createMetrics(), ...change }, scheduledJobs(act, limits)),
  }
}

/** Claims as the supervisor does, until the condition holds. */
const workUntil = (what: string, worker: LeasedWorker<Job, Result>, isTrue: () => boolean | Promise<boolean>) =>
  eventually(what, async () => {
    await worker.takeNext()
    return isTrue()
  })

const hangs = (): Promise<void> => new Promise(() => {})

test('what is due is done once, however many workers look', async () => {
  const { add, rows, worker } = await aSite()
  for (const host of ['a', 'b', 'c']) await add(host, 50)
  const done: number[] = []
  const act = async ({ n }: Job) => void done.push(n)
  const workers = [worker(act), worker(act), worker(act)]
  await eventually('all are done', async () => {
    await Promise.all(workers.map(each => each.takeNext()))
    return (await rows()).every(row => row.status === 'done')
  })
  assert.equal(done.length, 150)
  assert.equal(new Set(done).size, 150)
  assert.ok((await rows()).every(row => row.attempts === 1 && !row.is_leased))
})

test('what fails is tried again after its delay, and given up after the last', async () => {
  const { box, add, rows, worker } = await aSite()
  await add('a', 1)
  const metrics = createMetrics()
  let tries = 0
  const jobs = worker(() => Promise.reject(new Error(`try ${++tries}`)), { metrics })
  await workUntil('the first try', jobs, () => tries === 1)
  await jobs.idle(1_000)
  assert.equal(await jobs.takeNext(), 0, 'not before its time')
  box.clock.advance(11_000)
  await workUntil('the second', jobs, () => tries === 2)
  await jobs.idle(1_000)
  box.clock.advance(66_000)
  await workUntil('the third', jobs, async () => (await rows())[0]!.status === 'dead')
  assert.equal(tries, 3)
  const text = await metrics.registry.metrics()
  assert.match(text, /sluice_scheduled_jobs_total\{outcome="failed"\} 3/)
  assert.match(text, /sluice_scheduled_jobs_in_flight 0/)
})

test('attempts are counted as far as their column can hold, and then no further', async () => {
  const { world, add, rows, worker } = await aSite()
  await add('a', 1)
  await world.db.transact(system('test'), tx => tx.run(sql`update jobs set attempts = 1000`))
  await workUntil(
    'it is done',
    worker(async () => {}),
    async () => (await rows())[0]!.status === 'done',
  )
  assert.equal((await rows())[0]!.attempts, 1000)
})

test('a heartbeat keeps the lease of one that lives; the lease of a dead one lapses, and its late result is not recorded', async () => {
  const { box, add, rows, worker } = await aSite()
  await add('a', 1)
  const { promise: late, resolve: endLate } = Promise.withResolvers<void>()
  const [slow, other] = [worker(() => late), worker(async () => {})]
  assert.equal(await slow.takeNext(), 1)
  box.clock.advance(20_000)
  await slow.heartbeat()
  box.clock.advance(20_000)
  assert.equal(await other.takeNext(), 0, 'it lives')
  box.clock.advance(20_000)
  await workUntil('taken over', other, async () => (await rows())[0]!.status === 'done')
  await box.app.world.db.transact(system('test'), tx => tx.run(sql`update jobs set status = 'settled by the other'`))
  endLate()
  await slow.idle(5_000)
  assert.equal((await rows())[0]!.status, 'settled by the other')
})

/** A database that is away when the test says so. */
function anUnsteadyDatabase(real: Database): { db: Database; away: { is: boolean } } {
  const away = { is: false }
  const db = new Proxy(real, {
    get: (target, name: keyof Database) => {
      const value = target[name] as unknown
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...given: unknown[]) => unknown
      return (...given: unknown[]) => (away.is ? Promise.reject(unavailable(new Error('away'))) : call(...given))
    },
  })
  return { db, away }
}

test('a result is kept while the database is away, and recorded when it is back', async () => {
  const { world, add, rows, worker } = await aSite()
  await add('a', 1)
  const { db, away } = anUnsteadyDatabase(world.db)
  let tries = 0
  const jobs = worker(
    async () => {
      tries += 1
      away.is = true
    },
    { db },
  )
  await jobs.takeNext()
  await eventually('it was tried', async () => tries === 1)
  await jobs.idle(700)
  assert.equal((await rows())[0]!.status, 'pending', 'not recorded')
  away.is = false
  await eventually('it is recorded', async () => (await rows())[0]!.status === 'done')
  assert.equal(tries, 1)
})

test('memory that is reserved for an attempt is given back when its result is on record, and when it failed', async () => {
  const { world, add, rows } = await aSite()
  await add('a', 3)
  let [reserved, most] = [0, 0]
  const work = scheduledJobs(async job => {
    if (job.n === 2) throw new Error('no')
  })
  const jobs = new LeasedWorker<Job, Result>(
    { ...world, metrics: createMetrics() },
    {
      ...work,
      reserve: async () => {
        most = Math.max(most, ++reserved)
        return () => void reserved--
      },
      record: async (tx, ended) => {
        assert.ok(reserved >= ended.length, 'not before it is on record')
        return work.record(tx, ended)
      },
    },
  )
  const doneCount = async () => (await rows()).filter(each => each.status === 'done').length
  await workUntil('two are done', jobs, async () => (await doneCount()) === 2)
  assert.ok(most > 0)
  await eventually('all is given back', async () => reserved === 0)
})

test('a result whose record takes too long keeps those of others from nothing', async () => {
  const { world, add, rows, worker } = await aSite()
  await world.db.transact(system('test'), async tx => {
    await tx.run(sql`
      create function take_too_long() returns trigger language plpgsql as $$
      begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$`)
    await tx.run(sql`
      create trigger slow before update on jobs for each row when (new.host = 'slow' and new.status = 'done')
      execute function take_too_long()`)
  })
  await add('a', 2)
  await add('slow', 1)
  await add('b', 2)
  const mayEnd = Promise.withResolvers<void>()
  let begun = 0
  const jobs = worker(async () => {
    begun += 1
    await mayEnd.promise
  })
  await workUntil('all are tried', jobs, () => begun === 5)
  // Their results come together.
  mayEnd.resolve()
  await eventually(
    'the others are recorded',
    async () => (await rows()).filter(each => each.status === 'done').length === 4,
  )
  assert.deepEqual(
    (await rows()).map(({ status }) => status),
    ['done', 'done', 'pending', 'done', 'done'],
  )
})

test('when the process ends, what was not begun is free, and a result that cannot be recorded is given up and logged', async () => {
  const { box, world, add, rows, worker } = await aSite()
  await add('a', 6)
  const { db, away } = anUnsteadyDatabase(world.db)
  const { promise: cut, resolve: cutOff } = Promise.withResolvers<void>()
  const jobs = worker(() => cut, { db })
  const before = await rows()
  box.clock.advance(5_000)
  assert.equal(await jobs.takeNext(), 2, 'as many as a new key may have under way')
  await jobs.drain(100)
  const after = await rows()
  assert.equal(after.filter(row => row.is_leased && row.attempts === 1).length, 2, 'those that were begun')
  assert.deepEqual(after.slice(2), before.slice(2), 'the others are as if they had not been claimed')
  assert.equal(await jobs.takeNext(), 0)

  away.is = true
  cutOff()
  await jobs.close(300)
  assert.ok(box.logLines.some(line => line.includes('known results are lost')))
  await jobs.idle(2_000)
  away.is = false
  assert.equal((await rows()).filter(row => row.is_leased).length, 2, 'their leases give them back')
})

test('as a part of its feature it records results until requests have ended', async () => {
  const { add, rows, worker } = await aSite()
  await add('a', 1)
  const { promise: cut, resolve: cutOff } = Promise.withResolvers<void>()
  const { promise: requestsEnd, resolve: endRequests } = Promise.withResolvers<void>()
  const jobs = worker(() => cut)
  assert.equal(await jobs.takeNext(), 1)
  // As the process ends, both at once.
  let isClosed = false
  const closed = jobs.feature.close(requestsEnd).then(() => (isClosed = true))
  const drained = jobs.feature.drain()
  cutOff()
  await drained
  assert.equal((await rows())[0]!.status, 'done')
  assert.equal(isClosed, false)
  endRequests()
  await closed
})

test('what was claimed and could not be prepared is free for others', async () => {
  const { world, add, rows, worker } = await aSite()
  await add('a', 2)
  const prepare = () => Promise.reject(new Error('the database was lost'))
  const unprepared = new LeasedWorker(
    { ...world, metrics: createMetrics() },
    { ...scheduledJobs(async () => {}), prepare },
  )
  await assert.rejects(unprepared.takeNext(), /was lost/)
  assert.ok((await rows()).every(row => !row.is_leased && row.attempts === 0))
  await workUntil(
    'another does them',
    worker(async () => {}),
    async () => (await rows()).every(row => row.status === 'done'),
  )
})

test('a key that hangs has two under way and keeps nobody else waiting', async () => {
  const { add, worker } = await aSite()
  await add('slow', 150)
  await add('quick', 40)
  const begun = { slow: 0, quick: 0 }
  const jobs = worker(async ({ host }) => {
    begun[host as keyof typeof begun] += 1
    if (host === 'slow') await hangs()
  })
  await workUntil('the quick ones are done', jobs, () => begun.quick === 40)
  assert.equal(begun.slow, 2)
  await jobs.drain(10)
})

test('an account with many keys that hang leaves room for another', async () => {
  const { world, add, worker } = await aSite()
  for (let n = 0; n < 80; n++) await add(`slow${n}`, 3)
  await world.db.transact(system('test'), tx => tx.run(sql`update jobs set account = 'greedy'`))
  await add('quick', 10)
  const begun = { greedy: 0, other: 0 }
  const jobs = worker(async ({ account }) => {
    begun[account === 'greedy' ? 'greedy' : 'other'] += 1
    if (account === 'greedy') await hangs()
  })
  await workUntil('the other is served', jobs, () => begun.other === 10)
  assert.ok(begun.greedy <= 50, `${begun.greedy} of 100`)
  await jobs.drain(10)
})

test('while callers wait, few are claimed at a time', async () => {
  const { add, worker } = await aSite()
  for (let n = 0; n < 10; n++) await add(`host${n}`, 1)
  const load = new LoadShedder()
  let mustYield = true
  load.yieldWhile(() => mustYield)
  const jobs = worker(async () => {}, { load })
  assert.equal(await jobs.takeNext(), 3)
  assert.equal(await jobs.takeNext(), 0, 'not again at once')
  mustYield = false
  assert.equal(await jobs.takeNext(), 7)
  await jobs.idle(5_000)
})

test('a worker that holds back for callers looks again when its time has come', async () => {
  const { add, worker, world } = await aSite()
  for (let n = 0; n < 10; n++) await add(`host${n}`, 1)
  let nudged = 0
  const wakeups = Object.assign(Object.create(world.wakeups), { nudge: () => nudged++ }) as World['wakeups']
  const limits = { ...LIMITS, whileCallersWait: { claimMax: 3, everyMs: 300, doWait: () => true } }
  const jobs = worker(hangs, { wakeups }, limits)
  assert.equal(await jobs.takeNext(), 3)
  assert.equal(await jobs.takeNext(), 0)
  assert.equal(await jobs.takeNext(), 0)
  assert.equal(nudged, 0)
  await eventually('it wakes itself', async () => nudged > 0)
  assert.equal(nudged, 1)
  await jobs.drain(10)
})

test('work on the same queue yields to bulk work until that has ended, also when it fails', async () => {
  const load = new LoadShedder()
  const { promise, reject } = Promise.withResolvers<void>()
  const moving = load.yieldDuring(() => promise)
  assert.deepEqual([load.isBusy, load.callersWait], [true, false])
  reject(new Error('the database is away'))
  await assert.rejects(moving)
  assert.equal(load.isBusy, false)
})
