// Budgets of bytes and places: bounded, fair between owners, and never stuck.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteBudget } from './byte-budget.ts'
import { Semaphore } from './semaphore.ts'
import { InflowBudget } from './inflow-budget.ts'

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

test('owners that wait are served in turns', async () => {
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
  const held = [await budget.acquire(30, 'a'), await budget.acquire(30, 'b')]
  const large = budget.acquire(60, 'large')
  let isServed = false
  void large.then(() => (isServed = true))
  // As soon as one of the small ones ends the next has come.
  for (let n = 0; n < 20 && !isServed; n++) {
    const next = budget.acquire(30, `small${n}`)
    held.shift()!()
    void next.then(release => held.push(release))
    await settled(next)
    if (held.length === 0) break
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

test('who finds no room may leave, and who stops waiting holds nobody up', async () => {
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

test('a slow upload that has filled its share leaves room for another owner, and its own oldest goes on', () => {
  const budget = new InflowBudget(100)
  const oldest = budget.open('a', () => {})
  const second = budget.open('a', () => {})
  assert.equal(oldest.grow(60), true)
  assert.equal(second.grow(30), false)
  const victim = budget.open('b', () => {})
  assert.equal(victim.grow(30), true)
  assert.equal(oldest.grow(40), true)
})

test('an owner below its equal share grows although the budget is full', () => {
  const budget = new InflowBudget(90)
  budget.open('a', () => {}).grow(50)
  budget.open('b', () => {}).grow(45)
  assert.equal(budget.open('c', () => {}).grow(20), true)
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
      const budget = new InflowBudget(BYTES_MAX)
      const open = wanted.map(({ owner, chunks }) => {
        const state = { left: chunks, mayRead: true, inflow: budget.open(owner, () => (state.mayRead = true)) }
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
      // The bound, an equal share for those who had none, one oldest body, and the chunk that each had in hand.
      assert.ok(peak <= 2 * BYTES_MAX + 80 + wanted.length * 10, `${peak}`)
    }),
  )
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

test('those who wait for a permit take turns, and the work of the service goes first', async () => {
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

test('a permit that does not come in time is given up, and is not lost for others', async () => {
  const permits = new Semaphore({ permits: 1, perOwner: 1, waitMsMax: 20 })
  permits.acquire('a', tooLate)
  await assert.rejects(permits.acquire('b', tooLate)!, /too late/)
  permits.release('a')
  assert.equal(permits.acquire('c', tooLate), null)
})
