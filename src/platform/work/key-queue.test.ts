// How much of a key is leased by how it answers, and how keys and accounts share what a process may lease.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { FairShare } from './fair-share.ts'
import { KeyQueue, type Pace } from './key-queue.ts'

const PER_KEY = { first: 4, max: 16, aheadMax: 12, quickMs: 1_000 }
const SHARES = { all: 8_000, new: 2_000, slow: 2_000 }

interface Item {
  n: number
}

/** Fills what is free and starts what it may, at this time. */
function filled(queue: KeyQueue<Item>, nowMs = 0): Item[] {
  const { free } = queue
  for (let n = 0; n < free; n++) queue.waiting.push({ n })
  const started: Item[] = []
  while (queue.mayStart) started.push(queue.start(nowMs))
  return started
}

/** As many quick answers as it takes to hold the most. */
const QUICK = ['quick', 'quick', 'quick', 'quick'] as const

/** One whose last tries came to this. */
const aQueue = (...paces: Pace[]): KeyQueue<Item> => aQueueOf(randomUUID(), ...paces)

function aQueueOf(accountId: string, ...paces: Pace[]): KeyQueue<Item> {
  const queue = new KeyQueue<Item>({ key: randomUUID(), accountId }, PER_KEY)
  for (const pace of paces) {
    queue.waiting.push({ n: 0 })
    queue.end(queue.start(0), pace)
  }
  return queue
}

test('only a quick key has more leased than may be under way', () => {
  assert.deepEqual([aQueue().standing, aQueue().free], ['new', 4])
  const quick = aQueue(...QUICK)
  assert.deepEqual([quick.standing, quick.free], ['quick', 16 * 12])
  const slow = aQueue('slow', 'slow', 'slow')
  assert.deepEqual([slow.standing, slow.free], ['slow', 4], 'a slow answer earns nothing')
  const wasQuick = aQueue(...QUICK, 'slow')
  assert.deepEqual([wasQuick.standing, wasQuick.free], ['slow', 16], 'and keeps what may be under way')
  const silent = aQueue(...QUICK, 'unanswered')
  assert.deepEqual([silent.standing, silent.free], ['slow', 8])
  assert.deepEqual([aQueue('untried').standing, aQueue('untried').free], ['new', 4])
  assert.equal(aQueue(...QUICK, 'slow', 'quick').free, 16 * 2, 'quick now and then is not trusted with much')
})

test('a key that turns slow releases what waits beyond its limit', () => {
  for (const [outcome, limit] of [
    ['slow', 16],
    ['unanswered', 8],
  ] as const) {
    const queue = aQueue(...QUICK)
    const [first] = filled(queue)
    assert.equal(queue.size, 16 * 12)
    const released = queue.end(first!, outcome)
    assert.equal(released.length + queue.size, 16 * 12 - 1)
    assert.equal(queue.size, Math.max(15, limit), outcome)
    assert.equal(queue.isLow, false)
  }
})

test('a quick key is slow as soon as an answer is overdue', () => {
  const queue = aQueue(...QUICK)
  const began = filled(queue, 5_000)
  assert.deepEqual([queue.isLate(6_000), queue.isLate(6_001)], [false, true])
  assert.equal(queue.slowDown().length, 16 * 11)
  assert.deepEqual([queue.standing, queue.size, queue.isLate(7_000)], ['slow', 16, false])
  for (const item of began) queue.end(item, 'quick')
  assert.deepEqual([queue.standing, queue.isLate(9_000), queue.free], ['quick', false, 16 * 12])
})

test('slow keys together and new keys together get 2,000 each, and quick ones what there is', () => {
  const none = new FairShare(SHARES)
  const taken = { slow: 0, new: 0, quick: 0 }
  for (const standing of ['slow', 'new', 'quick'] as const) {
    for (let n = 0; n < 500; n++) taken[standing] += none.take(standing, randomUUID(), 200)
  }
  assert.ok(taken.slow <= 2_000 && taken.slow > 1_990, String(taken.slow))
  assert.ok(taken.new <= 2_000 && taken.new > 1_990, String(taken.new))
  assert.ok(taken.quick <= 4_020 && taken.quick > 3_990, String(taken.quick))

  const slow = Array.from({ length: 130 }, () => aQueue(...QUICK, 'slow'))
  for (const queue of slow) filled(queue)
  const share = new FairShare(SHARES, slow)
  assert.equal(share.take('slow', randomUUID(), 16), 0, '2,080 are leased')
  assert.equal(share.take('new', randomUUID(), 3_000), 1_000)
  assert.equal(share.take('quick', randomUUID(), 16), 16)
})

test('an account gets as many as are free, so that there is room for another whatever it does', () => {
  const [greedy, second, third] = [randomUUID(), randomUUID(), randomUUID()]
  for (const [standing, half] of [
    ['slow', 1_000],
    ['new', 1_000],
    ['quick', 4_000],
  ] as const) {
    const share = new FairShare(SHARES)
    assert.equal(share.take(standing, greedy, 100_000), half)
    assert.equal(share.take(standing, greedy, 100_000), 0)
    assert.equal(share.take(standing, second, 100_000), half / 2)
    assert.equal(share.take(standing, third, 100_000), half / 4)
    assert.equal(share.freeFor(standing, greedy), 0)
  }

  const queues = Array.from({ length: 300 }, () => aQueueOf(greedy))
  for (const queue of queues) filled(queue)
  const share = new FairShare(SHARES, queues)
  assert.deepEqual([...share.fullAccounts()], [greedy], '1,200 new ones')
  assert.equal(share.mayTakeStrangers, true)
  assert.equal(share.take('new', second, 4), 4)
  assert.ok(share.freeFor('quick', greedy) > 0, 'its quick ones go on')
})
