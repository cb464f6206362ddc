import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { ThreadPool, type ThreadFailure, type ThreadWork } from './thread-pool.ts'

const WORK = `
export function work({ sleepMs = 0, spinMs = 0, gate }) {
  if (gate) {
    Atomics.add(gate, 1, 1)
    Atomics.wait(gate, 0, 0, 20_000)
  }
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

/** Jobs that run until they are released. */
function slowJobs(t: TestContext, threads: ThreadPool) {
  const gate = new Int32Array(new SharedArrayBuffer(8))
  const slow: ThreadWork = { ...HASTY, timeoutMs: 60_000 }
  const release = (): void => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }
  t.after(async () => {
    release()
    await threads.close()
  })
  return {
    release,
    begun: () => Atomics.load(gate, 1),
    begin: (owner: string, bytes?: number) => threads.run<object, string>(slow, { input: { gate }, owner, bytes }),
    quick: (owner: string, bytes?: number) => threads.run<object, string>(slow, { input: {}, owner, bytes }),
  }
}

const isSettled = (job: Promise<unknown>): Promise<boolean> =>
  Promise.race([job.then(() => true), new Promise<boolean>(resolve => setImmediate(resolve, false))])

test('short work of an owner with nothing running does not wait for slow jobs of others', async t => {
  const { begin, begun, quick, release } = slowJobs(t, new ThreadPool({ threads: 3 }))
  const slow = [begin('a'), begin('a'), begin('b'), begin('b'), begin('c')]
  await eventually('all threads for long work are busy', async () => begun() === 3)

  assert.equal(await quick('d', 300_000), 'done')
  assert.equal(await quick('e', 300_000), 'done')

  const [ofBusyOwner, long, ofUnknownLength] = [quick('a', 300_000), quick('d', 5_000_000), quick('e')]
  assert.equal(await quick('d', 300_000), 'done', 'no long work took the thread, and no second job of one owner')
  for (const job of [...slow, ofBusyOwner, long, ofUnknownLength]) assert.equal(await isSettled(job), false)
  release()
  for (const job of [...slow, ofBusyOwner, long, ofUnknownLength]) assert.equal(await job, 'done')
})

test('long work has its turn while short work keeps coming', async t => {
  const { begin, quick, release } = slowJobs(t, new ThreadPool({ threads: 1 }))
  const ended: string[] = []
  const note = (what: string, job: Promise<unknown>) => job.then(() => void ended.push(what))
  const first = begin('z')
  const jobs = [
    ...['a', 'b', 'c', 'd'].map(owner => note('short', quick(owner, 1_000))),
    ...['e', 'f'].map(owner => note('long', quick(owner))),
  ]
  // One short job of the thread that is kept for it; the rest is taken in turn.
  release()
  await Promise.all([first, ...jobs])

  assert.ok(ended.lastIndexOf('long') < 5, `the last long job ended before the last short one: ${ended.join(' ')}`)
})
