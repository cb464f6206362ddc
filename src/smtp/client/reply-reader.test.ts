// Replies cut out of bytes, however the bytes are cut.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ReplyReader, type RawReply } from './reply-reader.ts'

function read(...chunks: (string | Buffer)[]): { replies: RawReply[]; objection: string | null; isInside: boolean } {
  const replies: RawReply[] = []
  const reader = new ReplyReader(reply => replies.push(reply))
  let objection: string | null = null
  for (const chunk of chunks) objection ??= reader.push(Buffer.from(chunk))
  return { replies, objection, isInside: reader.isInside }
}

test('single lines, several lines, bare LF and a code alone are replies', () => {
  assert.deepEqual(read('250 Ok\r\n').replies, [{ code: 250, text: '250 Ok' }])
  assert.deepEqual(read('250-a\r\n250-b\r\n250 c\r\n').replies, [{ code: 250, text: '250-a\n250-b\n250 c' }])
  assert.deepEqual(read('354 go\n').replies, [{ code: 354, text: '354 go' }])
  assert.deepEqual(read('220\r\n').replies, [{ code: 220, text: '220' }])
  assert.deepEqual(read('250-\r\n250\r\n').replies, [{ code: 250, text: '250-\n250' }])
})

test('text beyond ASCII is kept', () => {
  assert.equal(read('550 Empfänger unbekannt\r\n').replies[0]!.text, '550 Empfänger unbekannt')
})

test('replies come out the same, wherever the bytes are cut', () => {
  const bytes = Buffer.from('220 hello\r\n250-größe\r\n250 SIZE\r\n250 2.1.0 Ok\r\n550 5.1.1 Nö\r\n')
  const whole = read(bytes)
  assert.equal(whole.replies.length, 4)
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), cuts => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const pieces = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end))
      assert.deepEqual(read(...pieces), whole)
    }),
  )
})

test('the bytes given may be overwritten afterwards', () => {
  const replies: RawReply[] = []
  const reader = new ReplyReader(reply => replies.push(reply))
  const buffer = Buffer.from('250 be')
  reader.push(buffer)
  buffer.write('999999')
  reader.push(Buffer.from('gun\r\n'))
  assert.equal(replies[0]!.text, '250 begun')
})

test('what has no code, a strange code, a strange mark or two codes is no reply', () => {
  for (const text of ['hello', '', '25', '2500 x', '25x ok', '199 x', '600 x', '000 x', ' 250 x', '250_x', '250:x']) {
    const { replies, objection } = read(`${text}\r\n`)
    assert.deepEqual(replies, [], text)
    assert.match(objection ?? '', /no SMTP reply/, text)
  }
  assert.match(read('250-a\r\n251 b\r\n').objection ?? '', /two different codes/)
})

test('a line of 4 KiB and a reply of 64 KiB are read, longer ones are not', () => {
  assert.equal(read(`250 ${'x'.repeat(4_000)}\r\n`).replies.length, 1)
  assert.match(read(`250 ${'x'.repeat(4_200)}\r\n`).objection ?? '', /too long/)
  assert.match(read(`250 ${'x'.repeat(4_200)}`).objection ?? '', /without end/)
  const lines = (count: number): string => `${`250-${'x'.repeat(996)}\r\n`.repeat(count)}250 end\r\n`
  assert.equal(read(lines(64)).replies.length, 1)
  assert.match(read(lines(70)).objection ?? '', /without end/)
  // The limit is for each reply.
  assert.equal(read(lines(64), lines(64)).replies.length, 2)
})

test('it is known whether a reply has begun', () => {
  assert.equal(read('250 Ok\r\n').isInside, false)
  assert.equal(read('250 Ok').isInside, true)
  assert.equal(read('250-Ok\r\n').isInside, true)
})
