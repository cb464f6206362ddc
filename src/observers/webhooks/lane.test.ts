// How much a lane holds by how its endpoint answers, and how lanes share what a process may hold.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Budget } from './budget.ts'
import { Lane, outcomeOf, type Held, type Outcome } from './lane.ts'

const aHeld = (webhook_id: string, event_id: number): Held => ({
  webhook_id,
  event_id,
  event_type: 'accepted',
  attempt: 0,
  round_tries: 0,
  was_due_at: new Date(0),
  event: null,
  leaseToken: '',
})

/** Fills what it has room for and starts what it may, at this time. */
function filled(lane: Lane, nowMs = 0): Held[] {
  const { room } = lane
  for (let n = 0; n < room; n++) lane.waiting.push(aHeld(lane.webhookId, n))
  const started: Held[] = []
  while (lane.mayStart) started.push(lane.start(nowMs))
  return started
}

/** As many quick answers as it takes to hold the most. */
const QUICK = ['quick', 'quick', 'quick', 'quick'] as const

/** One whose last pushes came to this. */
function aLane(...outcomes: Outcome[]): Lane {
  return aLaneOf(randomUUID(), ...outcomes)
}

function aLaneOf(accountId: string, ...outcomes: Outcome[]): Lane {
  const lane = new Lane({ webhookId: randomUUID(), accountId })
  for (const outcome of outcomes) {
    lane.waiting.push(aHeld(lane.webhookId, 0))
    lane.end(lane.start(0), outcome)
  }
  return lane
}

test('an answer is quick when it is complete within a second, and slow when it is late or breaks off', () => {
  const result = { responseStatus: 500, isComplete: true, error: 'Answered 500.', latencyMs: 1_000 }
  assert.equal(outcomeOf(result), 'quick', 'whatever it says')
  assert.equal(outcomeOf({ ...result, latencyMs: 1_001 }), 'slow')
  assert.equal(outcomeOf({ ...result, isComplete: false, latencyMs: 5 }), 'slow')
  assert.equal(outcomeOf({ ...result, responseStatus: null, isComplete: false }), 'unanswered')
})

test('only a quick lane holds more than may be under way', () => {
  assert.deepEqual([aLane().standing, aLane().room], ['new', 4])
  const quick = aLane(...QUICK)
  assert.deepEqual([quick.standing, quick.room], ['quick', 16 * 12])
  const slow = aLane('slow', 'slow', 'slow')
  assert.deepEqual([slow.standing, slow.room], ['slow', 4], 'a slow answer earns nothing')
  const wasQuick = aLane(...QUICK, 'slow')
  assert.deepEqual([wasQuick.standing, wasQuick.room], ['slow', 16], 'and keeps what may be under way')
  const silent = aLane(...QUICK, 'unanswered')
  assert.deepEqual([silent.standing, silent.room], ['slow', 8])
  assert.deepEqual([aLane('untried').standing, aLane('untried').room], ['new', 4])
  assert.equal(aLane(...QUICK, 'slow', 'quick').room, 16 * 2, 'quick by turns is not trusted with much')
})

test('a lane that turns slow hands back what waits beyond its limit', () => {
  for (const [outcome, limit] of [
    ['slow', 16],
    ['unanswered', 8],
  ] as const) {
    const lane = aLane(...QUICK)
    const [first] = filled(lane)
    assert.equal(lane.held, 16 * 12)
    const handedBack = lane.end(first!, outcome)
    assert.equal(handedBack.length + lane.held, 16 * 12 - 1)
    assert.equal(lane.held, Math.max(15, limit), outcome)
    assert.equal(lane.isHungry, false)
  }
})

test('a quick lane is slow as soon as an answer is overdue', () => {
  const lane = aLane(...QUICK)
  const began = filled(lane, 5_000)
  assert.deepEqual([lane.isLate(6_000), lane.isLate(6_001)], [false, true])
  assert.equal(lane.slowDown().length, 16 * 11)
  assert.deepEqual([lane.standing, lane.held, lane.isLate(7_000)], ['slow', 16, false])
  for (const held of began) lane.end(held, 'quick')
  assert.deepEqual([lane.standing, lane.isLate(9_000), lane.room], ['quick', false, 16 * 12])
})

test('slow lanes together and new lanes together hold 2,000 each, and quick ones what there is', () => {
  const none = new Budget([])
  const taken = { slow: 0, new: 0, quick: 0 }
  for (const standing of ['slow', 'new', 'quick'] as const) {
    for (let n = 0; n < 500; n++) taken[standing] += none.take(standing, randomUUID(), 200)
  }
  assert.ok(taken.slow <= 2_000 && taken.slow > 1_990, String(taken.slow))
  assert.ok(taken.new <= 2_000 && taken.new > 1_990, String(taken.new))
  assert.ok(taken.quick <= 4_020 && taken.quick > 3_990, String(taken.quick))

  const slow = Array.from({ length: 130 }, () => aLane(...QUICK, 'slow'))
  for (const lane of slow) filled(lane)
  const budget = new Budget(slow)
  assert.equal(budget.take('slow', randomUUID(), 16), 0, '2,080 are held')
  assert.equal(budget.take('new', randomUUID(), 3_000), 1_000)
  assert.equal(budget.take('quick', randomUUID(), 16), 16)
})

test('an account holds as many as are free, so that there is room for another whatever it does', () => {
  const [greedy, second, third] = [randomUUID(), randomUUID(), randomUUID()]
  for (const [standing, half] of [
    ['slow', 1_000],
    ['new', 1_000],
    ['quick', 4_000],
  ] as const) {
    const budget = new Budget([])
    assert.equal(budget.take(standing, greedy, 100_000), half)
    assert.equal(budget.take(standing, greedy, 100_000), 0)
    assert.equal(budget.take(standing, second, 100_000), half / 2)
    assert.equal(budget.take(standing, third, 100_000), half / 4)
    assert.equal(budget.roomFor(standing, greedy), 0)
  }

  const lanes = Array.from({ length: 300 }, () => aLaneOf(greedy))
  for (const lane of lanes) filled(lane)
  const budget = new Budget(lanes)
  assert.deepEqual([...budget.fullAccounts()], [greedy], '1,200 new ones')
  assert.equal(budget.hasRoomForStrangers, true)
  assert.equal(budget.take('new', second, 4), 4)
  assert.ok(budget.roomFor('quick', greedy) > 0, 'its quick ones go on')
})
