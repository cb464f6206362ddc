import assert from 'node:assert/strict'
import test from 'node:test'
import { ThreadPool, type ThreadFailure, type ThreadWork } from './thread-pool.ts'

const WORK = `
export function work({ sleepMs = 0, spinMs = 0 }) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs)
  const used = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000 }
  const end = used() + spinMs
  while (used() < end);
  return { output: 'done', bytes: 0 }
}`
const HASTY: ThreadWork = {
  module: new URL(`data:text/javascript,${encodeURIComponent(WORK)}`),
  queueMax: 10,
  timeoutMs: 200,
}

test('a job has its time of a core, and six times that by the clock', async t => {
  const threads = new ThreadPool({ threads: 1 })
  t.after(() => threads.close())
  const outcome = (input: object) =>
    threads.run<object, string>(HASTY, { input, owner: 'test' }).catch(error => (error as ThreadFailure).reason)

  assert.equal(await outcome({}), 'done')
  assert.equal(await outcome({ sleepMs: 500 }), 'done', 'it waited for a core, and hardly used one')
  assert.equal(await outcome({ spinMs: 60_000 }), 'timeout')
  assert.equal(await outcome({ sleepMs: 60_000 }), 'timeout', 'it would never have ended')
  assert.equal(await outcome({}), 'done', 'another thread took its place')
})
