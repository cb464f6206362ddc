// Budgets of bytes and places: bounded, fair between owners, and never stuck.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteBudget } from './byte-budget.ts'
import { Semaphore } from './semaphore.ts'
import { runFor } from '../owner.ts'
import { InflowBudget } from './inflow-budget.ts'

const of = (owner: string) => ({ owner, tenant: '' })

const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let isSettled = false
  void promise.then(() => (isSettled = true))
  await new Promise(resolve => setImmediate(resolve))
  return isSettled
}

test('one owner has at most half of a budget, whatever it asks for', async () => {
  const budget = new ByteBudget(100)
  const release = await budget.acquire(50, 'a')
  const second = budget.acquire(20, 'a')
  assert.equal(await settled(second), false)
  assert.equal(await settled(budget.acquire(50, 'b')), true)
  release()
  assert.equal(await settled(second), true)
})

test('what is larger than the budget goes alone, and others wait for it', async () => {
  const budget = new ByteBudget(100)
  const release = await budget.acquire(1_000, 'a')
  const other = budget.acquire(1, 'b')
  assert.equal(await settled(other), false)
  release()
  release()
  assert.equal(await settled(other), true)
})

test('owners that wait are served round robin', async () => {
  const budget = new ByteBudget(100)
  const release = await budget.acquire(100, 'x')
  const order: string[] = []
  const wanted = ['a', 'a', 'a', 'b', 'c'].map(async owner => {
    const done = await budget.acquire(50, owner)
    order.push(owner)
    done()
  })
  release()
  await Promise.all(wanted)
  assert.deepEqual(order.slice(0, 3).toSorted(), ['a', 'b', 'c'])
})

test('a large thing is served although small ones that would fit keep coming', async () => {
  const budget = new ByteBudget(100)
  const reserved = [await budget.acquire(30, 'a'), await budget.acquire(30, 'b')]
  const large = budget.acquire(60, 'large')
  let isServed = false
  void large.then(() => (isServed = true))
  // As soon as one of the small ones ends the next has come.
  for (let n = 0; n < 20 && !isServed; n++) {
    const next = budget.acquire(30, `small${n}`)
    reserved.shift()!()
    void next.then(release => reserved.push(release))
    await settled(next)
    if (reserved.length === 0) break
  }
  assert.equal(isServed, true)
})

test('an owner that has its half and wants more keeps nobody else waiting', async () => {
  const budget = new ByteBudget(100)
  await budget.acquire(50, 'a')
  const more = budget.acquire(20, 'a')
  for (let n = 0; n < 20; n++) {
    const release = budget.tryAcquire(50, 'b')
    assert.notEqual(release, null)
    release!()
  }
  assert.equal(await settled(more), false)
})

test('who finds no room may leave, and who stops waiting delays nobody', async () => {
  const budget = new ByteBudget(100)
  const release = await budget.acquire(60, 'a')
  assert.equal(budget.tryAcquire(60, 'b'), null)
  const stopping = new AbortController()
  const large = budget.acquire(80, 'b', stopping.signal)
  for (let n = 0; n < 2; n++) (await budget.acquire(40, 'c'))()
  const small = budget.acquire(40, 'c')
  assert.equal(await settled(small), false, 'what is free is promised')
  stopping.abort(new Error('stopping'))
  await assert.rejects(large, /stopping/)
  assert.equal(await settled(small), true)
  release()
  assert.notEqual(budget.tryAcquire(60, 'b'), null)
})

test('whatever is asked for, the budget is never exceeded and everybody is served', async () => {
  const asked = fc.array(
    fc.record({ owner: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 1, max: 120 }) }),
    { minLength: 1, maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(asked, fc.infiniteStream(fc.nat()), async (wanted, chance) => {
      const budget = new ByteBudget(100)
      const open: { bytes: number; release: () => void }[] = []
      let served = 0
      for (const { owner, bytes } of wanted) {
        const begin = async (): Promise<void> => {
          open.push({ bytes: Math.min(bytes, 100), release: await budget.acquire(bytes, owner) })
          served += 1
        }
        void begin()
      }
      await new Promise(resolve => setImmediate(resolve))
      while (open.length > 0) {
        assert.ok(open.reduce((sum, each) => sum + each.bytes, 0) <= 100)
        open.splice(chance.next().value % open.length, 1)[0]!.release()
        await new Promise(resolve => setImmediate(resolve))
      }
      assert.equal(served, wanted.length)
    }),
  )
})

const OPTIONS = { stalledMs: 2_000 }
const DEAF = { resume: () => {}, drop: () => {} }

test('a slow upload that has filled its share leaves room for another owner, and its own oldest goes on', () => {
  const budget = new InflowBudget(100, OPTIONS)
  const oldest = budget.open(of('a'), DEAF)
  const second = budget.open(of('a'), DEAF)
  assert.equal(oldest.grow(60), true)
  assert.equal(second.grow(30), false)
  const victim = budget.open(of('b'), DEAF)
  assert.equal(victim.grow(30), true)
  assert.equal(oldest.grow(40), true)
})

test('an owner below its equal share grows although the budget is full', () => {
  const budget = new InflowBudget(90, OPTIONS)
  budget.open(of('a'), DEAF).grow(50)
  budget.open(of('b'), DEAF).grow(45)
  assert.equal(budget.open(of('c'), DEAF).grow(20), true)
})

test('whatever is sent, memory is bounded and every body ends', () => {
  const BYTES_MAX = 100
  const bodies = fc.array(
    fc.record({ owner: fc.constantFrom('a', 'b', 'c'), chunks: fc.integer({ min: 1, max: 8 }) }),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  fc.assert(
    fc.property(bodies, fc.infiniteStream(fc.nat()), (wanted, chance) => {
      const budget = new InflowBudget(BYTES_MAX, OPTIONS)
      const open = wanted.map(({ owner, chunks }) => {
        const resume = (): void => void (state.mayRead = true)
        const state = { left: chunks, mayRead: true, inflow: budget.open(of(owner), { ...DEAF, resume }) }
        return state
      })
      let peak = 0
      for (let step = 0; open.some(body => body.left > 0); step++) {
        assert.ok(step < 1_000, 'every body ends')
        const ready = open.filter(body => body.left > 0 && body.mayRead)
        assert.ok(ready.length > 0, 'somebody may always read')
        const body = ready[chance.next().value % ready.length]!
        body.mayRead = body.inflow.grow(10)
        body.left -= 1
        peak = Math.max(peak, budget.used)
        if (body.left === 0) body.inflow.release()
      }
      // The bound, an equal share for owners that had none, one oldest body, and the chunk that each had in hand.
      assert.ok(peak <= 2 * BYTES_MAX + 80 + wanted.length * 10, `${peak}`)
    }),
  )
})

/** A budget of 6,400, of which a small share is 100, and bodies that can be stopped and dropped. */
function aFullBudget() {
  let now = 0
  const budget = new InflowBudget(6_400, { stalledMs: 2_000, now: () => now })
  const begin = (owner: string, tenant = '') => {
    const body = { owner, mayRead: true, isDropped: false, grow, release: () => inflow.release(), finish }
    const drop = (): void => {
      body.isDropped = true
      inflow.release()
    }
    const inflow = budget.open({ owner, tenant }, { resume: () => (body.mayRead = true), drop })
    function grow(bytes: number): void {
      body.mayRead = inflow.grow(bytes)
    }
    function finish(): void {
      inflow.finish()
    }
    return body
  }
  /** Sends as much as it may. */
  const fill = (owner: string, bytes: number, tenant = '') => {
    const body = begin(owner, tenant)
    for (let sent = 0; sent < bytes && body.mayRead; sent += 50) body.grow(50)
    return body
  }
  const pass = (ms: number): void => {
    now += ms
    budget.relieve()
  }
  return { budget, begin, fill, pass }
}

test('a tenant that has filled the share of its account keeps no small or medium body of another tenant waiting', () => {
  const { budget, fill } = aFullBudget()
  for (let n = 0; n < 3; n++) fill('acme', 3_200, 'greedy')
  assert.ok(budget.used > 3_200)
  assert.equal(fill('acme', 100, 'greedy').mayRead, false)

  assert.equal(fill('acme', 1_400, 'sibling').mayRead, true)
  assert.equal(fill('acme', 60, 'third').mayRead, true)

  assert.equal(fill('acme', 3_200, 'fourth').mayRead, false, 'the account as a whole is bounded')
  assert.ok(budget.used <= 6_400)
  assert.equal(fill('other', 3_000).mayRead, true)
})

test('a tenant whose oldest body goes beyond all there is keeps no small body of another tenant waiting', () => {
  const { budget, begin, fill } = aFullBudget()
  const oldest = begin('acme', 'greedy')
  oldest.grow(100)
  fill('acme', 3_000, 'greedy')
  oldest.grow(3_500)
  assert.ok(budget.used > 6_400)

  assert.equal(fill('acme', 60, 'sibling').mayRead, true)
})

test('an account has no more of the memory for having many tenants', () => {
  const { fill } = aFullBudget()
  const bodies = Array.from({ length: 200 }, (_, n) => fill('acme', 100, `tenant ${n}`))
  const whole = bodies.filter(({ mayRead }) => mayRead).length
  assert.ok(whole * 100 <= 0.75 * 6_400 + 100, `${whole}`)
})

test('when a dozen owners fill the budget, a small body of another is received at once', () => {
  const { budget, fill } = aFullBudget()
  for (let n = 0; n < 12; n++) fill(`hostile${n}`, 3_700)
  assert.ok(budget.used > 1.5 * 6_400)

  assert.equal(fill('victim', 100).mayRead, true)
})

test('while memory is short a silent body above its share is dropped, the longest silent first, and waiting ones go on', () => {
  const { fill, pass } = aFullBudget()
  const silent = fill('silent', 3_000)
  pass(1_000)
  const later = fill('later', 3_000)
  const sending = fill('sending', 2_000)
  const waiting = fill('waiting', 4_000)
  assert.equal(waiting.mayRead, false)

  pass(900)
  assert.equal(silent.isDropped, false, 'not silent for long')
  pass(100)

  assert.deepEqual(
    [silent, later, sending, waiting].map(each => each.isDropped),
    [true, false, false, false],
  )
  assert.equal(waiting.mayRead, true)
})

test('nobody is dropped while nobody waits, nor a body that we stopped, that is whole, or that is within its share', () => {
  const { fill, pass } = aFullBudget()
  const silent = fill('silent', 3_000)
  pass(60_000)
  assert.equal(silent.isDropped, false)
  silent.finish()
  const small = fill('small', 100)
  const whole = fill('whole', 3_200)
  whole.finish()
  const stopped = [fill('b', 4_000), fill('c', 4_000)]
  assert.deepEqual(
    stopped.map(each => each.mayRead),
    [false, false],
  )

  pass(60_000)

  for (const body of [silent, small, whole, ...stopped]) assert.equal(body.isDropped, false, body.owner)
})

test('bodies of many owners that trickle and fill all there is give way to a small one that has waited', () => {
  const { budget, begin, fill, pass } = aFullBudget()
  const hostile = Array.from({ length: 60 }, (_, n) => fill(`hostile${n}`, 3_700))
  assert.ok(budget.used > 2 * 6_400)
  const victim = begin('victim')
  victim.grow(60)
  assert.equal(victim.mayRead, false)
  const trickle = (): void => hostile.filter(each => each.mayRead && !each.isDropped).forEach(each => each.grow(0))

  for (let second = 0; second < 2; second++) {
    trickle()
    pass(1_000)
  }

  assert.equal(victim.mayRead, true)
  assert.equal(victim.isDropped, false)
  const dropped = hostile.filter(each => each.isDropped)
  assert.ok(dropped.length > 0 && dropped.length < 10, `${dropped.length}: the largest alone`)
  assert.ok(budget.used <= 1.5 * 6_400)
})

const tooLate = (): Error => new Error('too late')

test('an owner has a part of the permits; the service itself may have all', () => {
  const permits = new Semaphore({ permits: 4, perOwner: 2, waitMsMax: 1_000 })
  assert.equal(permits.acquire('a', tooLate), null)
  assert.equal(permits.acquire('a', tooLate), null)
  assert.notEqual(permits.acquire('a', tooLate), null)
  assert.equal(permits.acquire(null, tooLate), null)
  assert.equal(permits.acquire('b', tooLate), null)
  assert.notEqual(permits.acquire(null, tooLate), null)
  for (const owner of ['a', 'a', null, 'b']) permits.release(owner)
})

test('waiting owners get permits round robin, and the work of the service goes first', async () => {
  const permits = new Semaphore({ permits: 1, perOwner: 1, waitMsMax: 1_000 })
  permits.acquire('x', tooLate)
  const order: (string | null)[] = []
  const all = ['a', 'a', 'b', null].map(async owner => {
    await permits.acquire(owner, tooLate)
    order.push(owner)
    permits.release(owner)
  })
  permits.release('x')
  await Promise.all(all)
  assert.deepEqual(order, [null, 'a', 'b', 'a'])
})

test('tenants of an owner are served round robin, and a key for all of them is one of them', async () => {
  const permits = new Semaphore({ permits: 1, perOwner: 1, waitMsMax: 1_000 })
  permits.acquire('acme', tooLate)
  const order: string[] = []
  const wait = async (tenant: string, name = tenant): Promise<void> => {
    await runFor('acme', () => permits.acquire('acme', tooLate), { tenant })
    order.push(name)
    permits.release('acme')
  }
  const all = [wait('busy'), wait('busy'), wait('busy'), wait('', 'all'), wait('', 'all'), wait('quiet')]
  permits.release('acme')
  await Promise.all(all)
  assert.deepEqual(order, ['busy', 'all', 'quiet', 'busy', 'all', 'busy'])
})

test('a permit that does not come in time is given up, and is not lost for others', async () => {
  const permits = new Semaphore({ permits: 1, perOwner: 1, waitMsMax: 20 })
  permits.acquire('a', tooLate)
  await assert.rejects(permits.acquire('b', tooLate)!, /too late/)
  permits.release('a')
  assert.equal(permits.acquire('c', tooLate), null)
})
