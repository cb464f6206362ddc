// Large messages are composed in a thread, and their files come back whole.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseAddress } from '../../mail/address/address.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { composeMessage, type OutgoingMessage } from '../../mail/mime/compose.ts'
import { ThreadPool } from '../../platform/threads/thread-pool.ts'
import { longestTurn } from '../../../test/support/main-thread.ts'
import { composeInThread } from './compose-large.ts'

const threads = new ThreadPool()
after(() => threads.close())

const OWNER = { owner: 'owner', bytes: Infinity }

const file = (content: Buffer): Attachment => ({
  filename: 'a.bin',
  contentType: null,
  contentId: null,
  inline: false,
  content,
})

const message = (attachments: Attachment[], html: string | null = null): OutgoingMessage => ({
  from: parseAddress('Acme <hello@acme.example>')!,
  to: [parseAddress('jane@example.com')!],
  cc: [],
  replyTo: [],
  subject: 'Grüße',
  text: 'Hallo',
  html,
  headers: [['X-Own', 'y']],
  attachments,
  messageId: '<1@acme.example>',
  date: new Date('2026-11-15T02:51:07Z'),
})

const withoutBoundaries = (source: Buffer): string => source.toString('latin1').replace(/=_[amr][0-9a-f-]{36}/g, 'B')

test('the source is that of the main thread, and every file is what it was, wherever its memory lies', async () => {
  const large = Buffer.alloc(2_000_000, 'abc')
  const within = Buffer.alloc(900_000, 'xyz').subarray(100, 800_000)
  const contents = [large, within, Buffer.from('small'), Buffer.alloc(0), large]
  const expected = contents.map(each => Buffer.from(each))
  const files = contents.map(file)
  const source = await composeInThread(threads, message(files), OWNER)
  assert.deepEqual(
    files.map(({ content }) => content),
    expected,
  )
  assert.equal(withoutBoundaries(source), withoutBoundaries(composeMessage(message(expected.map(file)))))
  assert.equal(within.length, 799_900, 'what is a part of something else is not taken from it')
})

test('25 MB of files and 10 MiB of text keep the main thread for a moment only', async () => {
  const html = 'c'.repeat(10 * 1024 * 1024 - 1)
  await composeInThread(threads, message([]), OWNER)
  const ms = await longestTurn(() =>
    composeInThread(threads, message([file(Buffer.alloc(25_000_000, 'abc'))], html), OWNER),
  )
  assert.ok(ms < 100, `the main thread was blocked for ${ms.toFixed(0)} ms`)
})

test('where no thread is free it is refused, to be sent again', async () => {
  const closed = new ThreadPool()
  await closed.close()
  await assert.rejects(composeInThread(closed, message([]), OWNER), { code: 'unavailable', retryAfterSeconds: 5 })
})

test('a file whose memory was lost with a thread is not sent empty', async () => {
  const lost = file(Buffer.alloc(1_000_000))
  structuredClone(lost.content.buffer, { transfer: [lost.content.buffer as ArrayBuffer] })
  await assert.rejects(composeInThread(threads, message([lost]), OWNER), /lost with a thread/)
})
