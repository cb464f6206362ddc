// What is inspected of outgoing mail, while other accounts keep the threads busy.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import { aPdf } from '../attachments/files.fixture.ts'
import { inspect } from './inspect.ts'
import { FileReader } from './read-files.ts'

const GATED = `export function work(gate) { Atomics.wait(gate, 0, 0, 20_000); return { output: null, bytes: 0 } }`
const SLOW: ThreadWork = {
  module: new URL(`data:text/javascript,${encodeURIComponent(GATED)}`),
  queueMax: 10,
  timeoutMs: 60_000,
}

const MAIL = {
  subject: 'Hello',
  text: 'Hello',
  html: '<p>Hello</p>',
  ownText: 'Hello',
  wantsFindings: true,
  recipients: [],
  tainted: { texts: [], packed: [] },
  found: { addresses: { from: [], to: [] }, attachmentNames: [] },
}
const aFile = (filename: string, content: Buffer) => ({
  filename,
  contentType: null,
  contentId: null,
  inline: false,
  content,
})

test('small mail is inspected with its text files while every thread for long work is busy', async t => {
  const threads = new ThreadPool({ threads: 2 })
  const gate = new Int32Array(new SharedArrayBuffer(4))
  t.after(async () => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
    await threads.close()
  })
  const slow = ['a', 'b'].map(owner => threads.run(SLOW, { input: gate, owner }))
  for (const each of slow) each.catch(() => {})
  const files = [aFile('card.txt', Buffer.from('My card is 4111 1111 1111 1111.'))]
  const inspecting = inspect({ threads }, new FileReader({ threads }), { ...MAIL, files, owner: 'c' })
  const found = await Promise.race([inspecting, delay(5_000, null, { ref: false })])
  assert.equal(found?.findings.length, 1)
})

test('files of mail that leaves take one thread of an account and two of all', async t => {
  const threads = new ThreadPool({ threads: 3 })
  t.after(() => threads.close())
  let [now, most] = [0, 0]
  const run = threads.run.bind(threads)
  t.mock.method(threads, 'run', async (...job: Parameters<typeof run>) => {
    most = Math.max(most, ++now)
    return run(...job).finally(() => now--)
  })
  const reader = new FileReader({ threads })
  const files = [aFile('a.pdf', aPdf(['one'])), aFile('b.pdf', aPdf(['two']))]
  const read = (owner: string) => reader.read(files, owner)
  const mails = await Promise.all([read('a'), read('a')])
  assert.deepEqual(
    mails[0]!.attachments.map(({ text }) => text),
    ['one', 'two'],
  )
  assert.equal(most, 1)
  await Promise.all([read('a'), read('b'), read('c'), read('a')])
  assert.equal(most, 2)
})

test('files that there is no time for are not read, and the mail is one that was not inspected in full', async t => {
  const threads = new ThreadPool({ threads: 1 })
  t.after(() => threads.close())
  const files = [aFile('a.pdf', aPdf(['one'])), aFile('b.pdf', aPdf(['two']))]
  const read = await new FileReader({ threads }, { readingMsMax: 0 }).read(files, 'a')
  assert.deepEqual(
    read.attachments.map(({ name, text }) => [name, text]),
    [
      ['a.pdf', 'one'],
      ['b.pdf', null],
    ],
  )
  assert.match(read.uninspected ?? '', /first 1 attachments/)
})
