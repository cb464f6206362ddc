import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
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
function slowJobs(t: TestContext, threads: ThreadPool, work: Partial<ThreadWork> = {}) {
  const gate = new Int32Array(new SharedArrayBuffer(8))
  const slow: ThreadWork = { ...HASTY, isAwaited: true, timeoutMs: 60_000, ...work }
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

/** A module that tells when it has been loaded, and how often that was. */
function countedModule(t: TestContext, { loadMs = 0 } = {}) {
  const name = `loads of ${randomUUID()}`
  const channel = new BroadcastChannel(name)
  t.after(() => channel.close())
  let count = 0
  channel.addEventListener('message', () => void count++)
  const load = `
await new Promise(resolve => setTimeout(resolve, ${loadMs}))
const channel = new BroadcastChannel('${name}')
channel.postMessage('')
channel.close()`
  return { module: new URL(`data:text/javascript,${encodeURIComponent(load + WORK)}`), loads: () => count }
}

test('one short job after the other needs one thread', async t => {
  const { module, loads } = countedModule(t)
  const { quick } = slowJobs(t, new ThreadPool({ threads: 3 }), { module })
  for (let n = 0; n < 5; n++) await quick('a', 1_000)
  await delay(300)
  assert.equal(loads(), 1)
})

test('while all threads do long work, the next one starts and loads what they have loaded', async t => {
  const { module, loads } = countedModule(t)
  const { begin, begun, quick, release } = slowJobs(t, new ThreadPool({ threads: 3 }), { module })

  assert.equal(await quick('a'), 'done')
  const slow = [begin('a')]
  await eventually('another thread has loaded the module before any job needs it', async () => loads() === 2)
  await eventually('there was one job', async () => begun() === 1)
  assert.equal(await quick('b', 1_000), 'done')
  assert.equal(loads(), 2, 'short work of another owner loads nothing')

  slow.push(begin('b'))
  await eventually('the third thread has it before any job needs it', async () => loads() === 3)
  slow.push(begin('c'))
  await eventually('the thread for short work has it before any job needs it', async () => loads() === 4)
  await eventually('there were three', async () => begun() === 3)
  assert.equal(await quick('d', 1_000), 'done')
  assert.equal(loads(), 4)
  release()
  assert.deepEqual(await Promise.all(slow), ['done', 'done', 'done'])
})

test('a thread that starts ahead loads nothing that no caller waits for', async t => {
  const { module, loads } = countedModule(t)
  const { begin, begun, release } = slowJobs(t, new ThreadPool({ threads: 3 }), { module, isAwaited: false })
  const job = begin('a')
  await eventually('it was loaded for its job', async () => begun() === 1)
  await delay(500)
  assert.equal(loads(), 1)
  release()
  await job
})

/** Two threads and the one for short work have loaded a module, and the second one now loads another for a second and a half. */
async function loadingAhead(t: TestContext) {
  const threads = new ThreadPool({ threads: 2 })
  const known = countedModule(t)
  const { begin, release } = slowJobs(t, threads, { module: known.module })
  const both = [begin('a'), begin('b')]
  await eventually('both threads and the one for short work have loaded it', async () => known.loads() === 3)
  release()
  await Promise.all(both)

  const slow = countedModule(t, { loadMs: 1_500 })
  await threads.run({ ...HASTY, module: slow.module, isAwaited: true }, { input: {}, owner: 'c' })
  return { threads, known: { module: known.module }, slow }
}

test('a short job does not wait for what a thread loads ahead where another thread is free', async t => {
  const { threads, known, slow } = await loadingAhead(t)
  const { begin, quick, release } = slowJobs(t, threads, known)
  const long = begin('d')
  assert.equal(await quick('e', 1_000), 'done')
  assert.equal(slow.loads(), 1, 'it did not wait until the module was loaded again')
  release()
  await long
})

test('a job that comes to a thread that loads ahead has its own time of a core, and no more', async t => {
  const { threads, known, slow } = await loadingAhead(t)
  const { begin, release } = slowJobs(t, threads, known)
  const long = begin('d')
  const hostile = threads.run<object, string>({ ...HASTY, ...known }, { input: { spinMs: 4_000 }, owner: 'e' })
  await assert.rejects(hostile, { reason: 'timeout' })
  assert.equal(slow.loads(), 2, 'it began behind the module')
  release()
  await long
})

test('a module that cannot be loaded again stops nothing and is not tried ahead again', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-threads-'))
  t.after(() => rm(folder, { recursive: true }))
  const log = join(folder, 'loads')
  const fragile = `
import { appendFileSync, readFileSync } from 'node:fs'
appendFileSync(${JSON.stringify(log)}, 'x')
await new Promise(resolve => setTimeout(resolve, 500))
if (readFileSync(${JSON.stringify(log)}).length > 1) throw new Error('it is gone')`
  const threads = new ThreadPool({ threads: 3 })
  const module = new URL(`data:text/javascript,${encodeURIComponent(fragile + WORK)}`)
  const { begin, release } = slowJobs(t, threads, { module })
  const loads = () => readFile(log, 'utf8').catch(() => '')
  const long = begin('a')
  await eventually('it was tried ahead', async () => (await loads()).length === 2)
  const { module: other } = countedModule(t, { loadMs: 1_000 })
  const meanwhile = threads.run<object, string>({ ...HASTY, module: other }, { input: {}, owner: 'b' })
  assert.equal(await meanwhile, 'done', 'a job that came to the thread needs another module')
  await delay(500)
  assert.equal(await loads(), 'xx')
  release()
  assert.equal(await long, 'done')
})

test('a pool that is closed just when a job ends keeps the process until its threads have ended', async () => {
  const script = `
import { ThreadPool } from ${JSON.stringify(new URL('./thread-pool.ts', import.meta.url).href)}
const work = { ...${JSON.stringify(HASTY)}, module: new URL(${JSON.stringify(HASTY.module.href)}) }
for (let n = 0; n < 20; n++) {
  const threads = new ThreadPool({ threads: 1 })
  await threads.run(work, { input: {}, owner: 'test' })
  await threads.close()
}
console.log('closed')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env: {} })
  assert.equal(stdout, 'closed\n')
})
