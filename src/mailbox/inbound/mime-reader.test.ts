import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { atFileEnd, onePerFile } from '../../../test/support/file-end.ts'
import { parseAddress } from '../../mail/address/address.ts'
import { ThreadPool } from '../../platform/threads/thread-pool.ts'
import { MimeReader } from './mime-reader.ts'
import { composeMessage } from '../../mail/mime/compose.ts'
import type { Refused } from '../../mail/mime/parsed-mail.ts'
import type { ReadMail } from './read-mail.ts'

interface Limits {
  queueMax?: number
  timeoutMs?: number
}

interface TestReader {
  readMail(source: Buffer): Promise<ReadMail | Refused>
}

/** For tests that ask for no other heap: starting a thread takes longer than most of them do. */
const theThreads = onePerFile(() => threadsOf({ after: atFileEnd, heapMbMax: 192 }))

/** A machine that runs all tests at once may need longer than the five seconds a message has. */
const theReader = (): TestReader => readerOf(theThreads(), { timeoutMs: 30_000 })

interface ThreadsOptions {
  after: (close: () => Promise<void>) => void
  heapMbMax: number
}

function threadsOf({ after, heapMbMax }: ThreadsOptions): ThreadPool {
  const threads = new ThreadPool({ threads: 1, heapMbMax })
  after(() => threads.close())
  return threads
}

const aHeap = (t: TestContext, heapMbMax: number): ThreadPool =>
  threadsOf({ after: close => t.after(close), heapMbMax })

function readerOf(threads: ThreadPool, limits: Limits = {}): TestReader {
  const reader = new MimeReader(threads, limits)
  return {
    readMail: async source => {
      const message = await reader.readMessage(source, 'test')
      return message.kind === 'message' ? message.mail : message
    },
  }
}

const reasonOf = (result: ReadMail | Refused): string => (result.kind === 'refused' ? result.reason : 'read')
const names = (name: string) => ({ filename: name, declaredName: name })
const HELLO = Buffer.from('Subject: hello\r\n\r\nhello\r\n')

test('a message is read in full', async () => {
  const content = Buffer.from([0, 1, 255, 10, 13])
  const source = composeMessage({
    from: parseAddress('Grün GmbH <hello@acme.example>')!,
    to: [parseAddress('jane@example.com')!, parseAddress('"Doe, John" <john@example.com>')!],
    cc: [],
    replyTo: [parseAddress('help@acme.example')!],
    subject: 'Grüße',
    text: 'Hallo',
    html: '<p>Hallo <img src="cid:logo"></p>',
    headers: [
      ['References', '<1@x> <2@x>'],
      ['In-Reply-To', '<2@x>'],
    ],
    attachments: [
      { filename: 'ä.bin', contentType: 'application/x-thing', contentId: null, inline: false, content },
      { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', inline: true, content },
    ],
    messageId: '<3@acme.example>',
    date: new Date('2026-11-15T02:51:07Z'),
  })
  const mail = await theReader().readMail(source)
  assert(mail.kind === 'mail')
  assert.deepEqual(mail.from, [{ name: 'Grün GmbH', address: 'hello@acme.example' }])
  assert.deepEqual(mail.to, [
    { name: '', address: 'jane@example.com' },
    { name: 'Doe, John', address: 'john@example.com' },
  ])
  assert.deepEqual(mail.replyTo, [{ name: '', address: 'help@acme.example' }])
  assert.equal(mail.subject, 'Grüße')
  assert.equal(mail.text, 'Hallo')
  assert.match(mail.html!, /<p>Hallo/)
  assert.equal(mail.messageId, '<3@acme.example>')
  assert.equal(mail.inReplyTo, '<2@x>')
  assert.deepEqual(mail.references, ['<1@x>', '<2@x>'])
  assert.equal(mail.date?.toISOString(), '2026-11-15T02:51:07.000Z')
  assert.deepEqual(mail.attachments, [
    { ...names('logo.png'), contentType: 'image/png', typeParams: null, contentId: 'logo', inline: true, content },
    {
      ...names('ä.bin'),
      contentType: 'application/x-thing',
      typeParams: null,
      contentId: null,
      inline: false,
      content,
    },
  ])
  assert(Buffer.isBuffer(mail.attachments[0]!.content))
})

test('the source is left as it was, also when it is a slice of a larger buffer', async () => {
  const pool = Buffer.concat([Buffer.from('secret'), HELLO, Buffer.from('secret')])
  const mail = await theReader().readMail(pool.subarray(6, 6 + HELLO.length))
  assert(mail.kind === 'mail')
  assert.equal(mail.text, 'hello')
  assert.equal(pool.length, HELLO.length + 12)
})

test('nonsense and nothing are read as far as they go', async () => {
  const reader = theReader()
  for (const source of ['', '\0\0\0', 'no header here', 'Content-Type: multipart/mixed\r\n\r\nx', ':\r\n\r\n']) {
    assert.equal(reasonOf(await reader.readMail(Buffer.from(source))), 'read', source)
  }
})

test('many messages at once each get their own answer', async () => {
  const reader = theReader()
  const subjects = Array.from({ length: 50 }, (_, n) => `message ${n}`)
  const results = await Promise.all(
    subjects.map(subject => reader.readMail(Buffer.from(`Subject: ${subject}\r\n\r\n`))),
  )
  assert.deepEqual(
    results.map(mail => (mail.kind === 'mail' ? mail.subject : mail.reason)),
    subjects,
  )
})

const nested = (levels: number): string => {
  let source = ''
  for (let level = 0; level < levels; level++) {
    source += `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}\r\n`
  }
  return source
}
const parts = (count: number, boundary: string): string =>
  `Content-Type: multipart/mixed; ${boundary}\r\n\r\n${'--b\r\nContent-Type: a/b\r\n\r\nx\r\n'.repeat(count)}--b--\r\n`

test('what goes over a cap is refused with the reason, and what stays under it is not', async () => {
  const reader = theReader()
  const reason = async (source: string) => reasonOf(await reader.readMail(Buffer.from(source)))
  assert.equal(await reason(nested(64)), 'read')
  assert.equal(await reason(nested(66)), 'too_deep')
  assert.equal(await reason(parts(990, 'boundary=b')), 'read')
  assert.equal(await reason(parts(1001, 'boundary=b')), 'too_many_parts')
  assert.equal(await reason(parts(1001, 'boundary*0=b')), 'too_many_parts')
  assert.equal(await reason(parts(1001, 'boundary\r\n\t = b')), 'too_many_parts')
  assert.equal(await reason(`X: ${'y'.repeat(1_050_000)}\r\n\r\n`), 'header_too_large')
  assert.equal(await reason(`${'X: y\r\n'.repeat(2_001)}\r\n`), 'header_too_large')
  assert.equal(reasonOf(await reader.readMail(Buffer.alloc(52_428_801))), 'too_large')
})

const shortLines = (bytes: number): Buffer => Buffer.concat([HELLO, Buffer.alloc(bytes, 'a\n')])

test('a message that takes too long is refused, its worker replaced, and the next one read', async () => {
  const reader = readerOf(theThreads(), { timeoutMs: 250 })
  assert.equal(reasonOf(await reader.readMail(HELLO)), 'read')
  // Every line could be a boundary.
  const dashes = Buffer.concat([
    Buffer.from('Content-Type: multipart/mixed; boundary=b\r\n\r\n'),
    Buffer.alloc(30_000_000, '--\n'),
  ])
  const [slow, next] = await Promise.all([reader.readMail(dashes), reader.readMail(HELLO)])
  assert.equal(reasonOf(slow), 'timeout')
  assert.equal(reasonOf(next), 'read')
})

test('a message that needs too much memory is refused, and the next one read', async t => {
  const reader = readerOf(aHeap(t, 48), { timeoutMs: 60_000 })
  const [huge, next] = await Promise.all([reader.readMail(shortLines(20_000_000)), reader.readMail(HELLO)])
  assert.equal(reasonOf(huge), 'too_large')
  assert.equal(reasonOf(next), 'read')
})

test('three hundred thousand short lines are an odd message, but one that is read', async () => {
  const mail = await theReader().readMail(shortLines(600_000))
  assert(mail.kind === 'mail')
  assert.equal(mail.text, `hello\n${'a\n'.repeat(300_000)}`.trimEnd())
})

test('more than the queue holds is refused at once as busy', async t => {
  const reader = readerOf(aHeap(t, 192), { queueMax: 2 })
  const results = await Promise.all([1, 2, 3].map(() => reader.readMail(HELLO)))
  assert.deepEqual(results.map(reasonOf), ['read', 'read', 'busy'])
})

test('a closed reader refuses what is waiting and what comes later', async () => {
  const threads = new ThreadPool()
  const reader = new MimeReader(threads)
  const reason = async (): Promise<string> => {
    const message = await reader.readMessage(HELLO, 'test')
    return message.kind === 'refused' ? message.reason : 'read'
  }
  const waiting = [reason(), reason()]
  await threads.close()
  assert.deepEqual(await Promise.all(waiting), ['closed', 'closed'])
  assert.equal(await reason(), 'closed')
})

test('hostile mail costs the main thread less than 150 ms', async () => {
  const reader = theReader()
  const hostile = [
    `To: ${'a@b.cc,'.repeat(140_000)}\r\n\r\nx`,
    `Subject: ${'=?UTF-8?Q?=41?= '.repeat(60_000)}\r\n\r\nx`,
    `References: ${'<a@b>'.repeat(200_000)}\r\n\r\nx`,
    `${'X: y\r\n'.repeat(1_999)}\r\nx`,
    parts(999, 'boundary=b'),
    `Subject: x\r\n\r\n${'line of text\r\n'.repeat(200_000)}`,
    `${'X: y\r\n'.repeat(100_000)}\r\nx`,
    `Subject: ${'y'.repeat(10_000_000)}\r\n\r\nx`,
    `Subject: ${'=?utf-8?q?'.repeat(100_000)}\r\n\r\nx`,
    `Content-Type: text/plain${';a'.repeat(500_000)}\r\n\r\nx`,
    `Content-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n${'=*%\xff'.repeat(1_000_000)}`,
    `Content-Type: text/html\r\n\r\n${'<div>'.repeat(150_000)}`,
    `Content-Type: text/html\r\n\r\n${'<b>'.repeat(75_000)}${'</i>'.repeat(75_000)}`,
    `Content-Type: text/html\r\n\r\n<p title="${'x'.repeat(5_000_000)}`,
    `Content-Type: text/html\r\n\r\n${'<p style="color:red">x'.repeat(10_000)}`,
    `Subject: \0\r\r\n\n\r\n\0\r`,
  ]
  for (const text of hostile) {
    const source = Buffer.from(text)
    const before = process.threadCpuUsage()
    const result = await reader.readMail(source)
    const { user, system } = process.threadCpuUsage(before)
    const ms = (user + system) / 1000
    assert(ms < 150, `${text.slice(0, 12)} cost the main thread ${ms} ms (${reasonOf(result)})`)
    // Each is refused for what it is, or read.
    assert(['read', 'header_too_large'].includes(reasonOf(result)), `${text.slice(0, 60)}: ${reasonOf(result)}`)
  }
})

test('a mail of 40 MB with 200 files goes through without a copy on the main thread', async t => {
  const reader = readerOf(aHeap(t, 320))
  assert.equal(reasonOf(await reader.readMail(HELLO)), 'read')
  const content = Buffer.alloc(150_000, 'a file with some words in it, ')
  const encoded = content.toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  const file = (n: number) =>
    `--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=${n}.pdf\r\n` +
    `Content-Transfer-Encoding: base64\r\n\r\n${encoded}\r\n`
  const files = Array.from({ length: 200 }, (_, n) => file(n)).join('')
  const source = Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello\r\n${files}--b--\r\n`)
  assert(source.length > 40_000_000)

  const before = process.threadCpuUsage()
  const mail = await reader.readMail(source)
  const { user, system } = process.threadCpuUsage(before)

  assert(mail.kind === 'mail')
  assert.equal(mail.attachments.length, 200)
  assert(mail.attachments.every(attachment => attachment.content.equals(content)))
  assert((user + system) / 1000 < 200, `it cost the main thread ${(user + system) / 1000} ms`)
})
