// Shares of the threads that read reports: a flood of mail to postmaster@ keeps no report of others from being read.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { dsn, failed } from '../../mail/reports/report.fixture.ts'
import { ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import { TestClient } from '../../smtp/server/client.fixture.ts'
import { eventually } from '../../../test/support/factories.ts'
import { aDeliveredMessage, anMx } from './inbound.fixture.ts'
import { MimeReader } from './mime-reader.ts'

const WAITING: ThreadWork = {
  module: new URL(
    'data:text/javascript,export const work = ({ gate }) => (Atomics.wait(gate, 0, 0, 20000), { output: 0, bytes: 0 })',
  ),
  queueMax: 1,
  timeoutMs: 60_000,
}

/** All threads are busy until they are released, but the one for short work. */
function aBusyPool(t: TestContext) {
  const threads = new ThreadPool({ threads: 1 })
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const busy = threads.run(WAITING, { input: { gate }, owner: 'another' }).catch(() => {})
  const release = async (): Promise<void> => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
    await busy
  }
  t.after(() => release().then(() => threads.close()))
  let asked = 0
  const counting: Pick<ThreadPool, 'run'> = {
    run: (work, job) => {
      asked += 1
      return threads.run(work, job)
    },
  }
  return { threads: counting as ThreadPool, asked: () => asked, release }
}

test('mail to postmaster has a share per network, and takes none of that of reports to return paths', async t => {
  const { threads, asked, release } = aBusyPool(t)
  const mx = await anMx(t, { reader: new MimeReader(threads, { queueMax: 1 }) })
  const sent = await aDeliveredMessage()
  const large = ['Subject: x', '', ...Array<string>(700).fill('x'.repeat(900))]
  const send = async (to: string, lines: readonly string[], ip = '127.0.0.1'): Promise<string> => {
    const client = await TestClient.open(t, mx.port, ip)
    await client.hello()
    return client.send(lines.map(line => `${line}\r\n`).join(''), { from: '', to: [to] })
  }
  /** It waits for a thread. */
  const begin = async (...mail: Parameters<typeof send>): Promise<{ reply: Promise<string> }> => {
    const before = asked()
    const reply = send(...mail)
    await eventually('it is to be read', async () => asked() > before)
    return { reply }
  }

  const first = await begin('postmaster', large)
  assert.match(await send('postmaster', large), /^451 4\.3\.0/)
  const others = await begin('postmaster', large, '127.0.0.2')
  assert.match(await send(sent.bounceAddress(), dsn(failed('jane@example.com'))), /^250/)
  assert.deepEqual(await sent.statuses(), ['bounced'])
  const long = await begin(sent.bounceAddress(), large)
  await release()

  for (const { reply } of [first, others, long]) assert.match(await reply, /^250/)
})
