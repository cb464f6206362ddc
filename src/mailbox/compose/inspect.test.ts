// What is inspected of outgoing mail, while other accounts keep the threads busy.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import { aPdf, aZip } from '../attachments/files.fixture.ts'
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

test('tainted words are found in names, in what nobody is shown, and in whatever a file makes of them', async t => {
  const threads = new ThreadPool()
  t.after(() => threads.close())
  const said = 'please wire forty thousand euros to the account of our new supplier before noon today'
  const base64 = Buffer.from(said).toString('base64')
  const eml = `From: a@example.com\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64.match(/.{1,76}/g)!.join('\r\n')}\r\n`
  const places: Record<string, Partial<typeof MAIL> & { files?: ReturnType<typeof aFile>[] }> = {
    'the name of a recipient': { recipients: [said, 'bob@example.com'] as never[] },
    'the name of a file': { files: [aFile(`${said}.txt`, Buffer.from('x'))] },
    'a comment': { html: `<!-- ${said} --><p>Hello</p>` },
    'a style': { html: `<style>/* ${said} */</style><p>Hello</p>` },
    'a link': { html: `<a href="https://example.com/?${encodeURIComponent(said)}">Hello</a>` },
    base64: { text: `See ${base64}` },
    'a mail that is attached': { files: [aFile('mail.eml', Buffer.from(eml))] },
    'rich text': { files: [aFile('a.rtf', Buffer.from(`{\\rtf1 ${said.replaceAll(' ', '{\\b  }')}}`))] },
    'an archive': { files: [aFile('a.zip', aZip({ 'a.txt': said }))] },
    'a file of no known kind': { files: [aFile('a.bin', Buffer.from(said, 'utf16le'))] },
  }
  const inspected = (tainted: string, { files = [], ...mail }: (typeof places)[string]) =>
    inspect({ threads }, new FileReader({ threads }), {
      ...MAIL,
      ...mail,
      tainted: { texts: [tainted], packed: [] },
      wantsFindings: false,
      files,
      owner: 'a',
    })
  for (const [place, mail] of Object.entries(places)) {
    assert.ok((await inspected(`Hello, ${said}. Bye.`, mail)).repeatsTainted, place)
  }
  const picture = aFile('a.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))
  const other = 'a tainted mail that says nothing of what is written here and is long enough to be compared'
  for (const mail of [
    { text: `See ${base64}` },
    { files: [picture] },
    { files: [aFile('mail.eml', Buffer.from(eml))] },
  ]) {
    assert.equal((await inspected(other, mail)).repeatsTainted, false)
  }
})
