// Work for many, each in turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unavailable } from '../db/errors.ts'
import { oneByOne } from './one-by-one.ts'

const timedOut = unavailable(Object.assign(new Error('canceling statement'), { code: '57014' }))
const away = unavailable(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))

async function turnsOf(failure: Error): Promise<string[]> {
  const turns: string[] = []
  const work = async (item: string) => {
    turns.push(item)
    if (item === 'b') throw failure
  }
  await assert.rejects(oneByOne(['a', 'b', 'c'], work), failure)
  return turns
}

test('what fails for one, or takes too long, keeps nobody else from theirs, and is told in the end', async () => {
  assert.deepEqual(await turnsOf(new Error('no')), ['a', 'b', 'c'])
  assert.deepEqual(await turnsOf(timedOut), ['a', 'b', 'c'])
})

test('without a database there are no more turns', async () => {
  assert.deepEqual(await turnsOf(away), ['a', 'b'])
})
