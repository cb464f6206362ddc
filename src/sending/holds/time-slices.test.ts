// Long work over the queue: in slices while several wait, begun again where it failed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { LoadShedder } from '../../platform/work/load-shedder.ts'
import { TimeSlices, type LongWork } from './time-slices.ts'

const { signal } = new AbortController()

test('a short piece of work does not wait for the end of a long one, which goes on where it stood', async () => {
  const left = new Map([['long', 300]])
  const done: string[] = []
  let scans = 0
  const work: LongWork<{ id: string }, { id: string }> = {
    load: new LoadShedder(),
    list: async () => [...left.keys()].map(id => ({ id })),
    begin: job => {
      scans += 1
      return job
    },
    batch: async ({ id }) => {
      await delay(10)
      // The short one comes while the long one is at work.
      if (id === 'long' && left.get(id) === 250) left.set('short', 1)
      left.set(id, left.get(id)! - 1)
      return left.get(id)! > 0
    },
    end: async ({ id }) => {
      left.delete(id)
      done.push(id)
      return true
    },
  }
  const slices = new TimeSlices<{ id: string }, { id: string }>()
  while ((await slices.next(work, signal)) > 0);
  assert.deepEqual(done, ['short', 'long'])
  assert.equal(scans, 2)
})

test('a scan whose batch failed is begun again', async () => {
  let scans = 0
  let isDone = false
  const work: LongWork<{ id: string }, number> = {
    load: new LoadShedder(),
    list: async () => (isDone ? [] : [{ id: 'one' }]),
    begin: () => (scans += 1),
    batch: async (_, scan) => {
      if (scan === 1) throw new Error('the database is away')
      return false
    },
    end: async () => (isDone = true),
  }
  const slices = new TimeSlices<{ id: string }, number>()
  await assert.rejects(slices.next(work, signal), /away/)
  assert.equal(await slices.next(work, signal), 1)
  assert.equal(scans, 2)
})

test('a job that fails keeps the others from nothing, and says so at the end', async () => {
  const done: string[] = []
  const work: LongWork<{ id: string }, null> = {
    load: new LoadShedder(),
    list: async () => ['first', 'broken', 'last'].map(id => ({ id })),
    begin: () => null,
    batch: async ({ id }) => {
      if (id === 'broken') throw new Error('too long a statement')
      return false
    },
    end: async ({ id }) => done.push(id) > 0,
  }
  await assert.rejects(new TimeSlices<{ id: string }, null>().next(work, signal), /too long a statement/)
  assert.deepEqual(done, ['first', 'last'])
})
