// One SMTP transaction is one message, however its bytes are cut.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dotStuff, endOfData } from '../dot-stuff.ts'
import { DataReader } from './data.ts'

type Outcome = { kind: 'source'; source: Buffer } | { kind: 'malformed' } | { kind: 'too_large' }

/** Pushes the pieces; what followed the end of the data comes back as `rest`, null when the end never came. */
function read(pieces: Buffer[], bytesMax = 1_000_000): { outcome: Outcome; rest: string | null } {
  const reader = new DataReader(bytesMax)
  let rest: string | null = null
  for (const piece of pieces) {
    if (rest !== null) {
      rest += piece.toString('latin1')
      continue
    }
    const end = reader.push(piece)
    if (end !== -1) rest = piece.toString('latin1', end)
  }
  const outcome = reader.outcome()
  return { outcome: outcome.kind === 'source' ? { kind: 'source', source: outcome.takeSource() } : outcome, rest }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** The same bytes whole, cut in two at every place, and byte by byte. */
function cuts(text: string): Buffer[][] {
  const whole = bytes(text)
  const halves = Array.from({ length: whole.length - 1 }, (_, at) => [
    whole.subarray(0, at + 1),
    whole.subarray(at + 1),
  ])
  return [[whole], ...halves, [...whole].map(byte => Buffer.of(byte))]
}

test('only CRLF.CRLF ends the data, and the rest is left for the next command', () => {
  for (const pieces of cuts('A: b\r\n\r\nhello\r\n.\r\nQUIT\r\n')) {
    const { outcome, rest } = read(pieces)
    assert.deepEqual(outcome, { kind: 'source', source: bytes('A: b\r\n\r\nhello\r\n') })
    assert.equal(rest, 'QUIT\r\n')
  }
})

test('a dot on the first line ends an empty message', () => {
  for (const pieces of cuts('.\r\nQUIT\r\n')) {
    assert.deepEqual(read(pieces), { outcome: { kind: 'source', source: Buffer.alloc(0) }, rest: 'QUIT\r\n' })
  }
})

test('doubled dots lose one, at every place the bytes can be cut', () => {
  for (const pieces of cuts('..a\r\n..\r\n...\r\nb.c\r\n.d\r\n.\r\n')) {
    assert.deepEqual(read(pieces).outcome, { kind: 'source', source: bytes('.a\r\n.\r\n..\r\nb.c\r\nd\r\n') })
  }
})

test('no variant of the end smuggles a second message in: all is one message, and it is refused', () => {
  const variants = ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r.\r\n', '\r\n.\r', '\n.\r', '\r.\n', '\r\n\0.\r\n']
  for (const variant of variants) {
    const smuggled = `first${variant}MAIL FROM:<x@y.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nsecond\r\n.\r\n`
    for (const pieces of cuts(smuggled)) {
      const { outcome, rest } = read(pieces)
      assert.deepEqual(outcome, { kind: 'malformed' }, JSON.stringify(variant))
      assert.equal(rest, '', `${JSON.stringify(variant)} must not end the data early`)
    }
  }
})

test('a bare CR, a bare LF or a NUL anywhere is refused', () => {
  for (const text of ['\n', 'a\nb', '\r\r\n', 'a\rb', 'a\0b', '\r\n\n', '.\rx', 'a\r\n\rb']) {
    for (const pieces of cuts(`${text}\r\n.\r\n`)) {
      assert.deepEqual(read(pieces), { outcome: { kind: 'malformed' }, rest: '' }, JSON.stringify(text))
    }
  }
})

test('what an honest client sends comes out as it went in, however it is cut', () => {
  const line = fc.stringMatching(/^[.a\xe9 ]{0,6}$/)
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(60), { maxLength: 6 }), (lines, cuts) => {
      const source = bytes(lines.map(each => `${each}\r\n`).join(''))
      const wire = Buffer.concat([dotStuff(source), endOfData(source), bytes('NOOP\r\n')])
      const at = [...new Set(cuts.filter(cut => cut < wire.length))].toSorted((a, b) => a - b)
      const pieces = [0, ...at].map((from, index) => wire.subarray(from, at[index] ?? wire.length))
      const { outcome, rest } = read(pieces)
      assert.deepEqual(outcome, { kind: 'source', source })
      assert.equal(rest, 'NOOP\r\n')
    }),
    { numRuns: 1_000 },
  )
})

test('a message is counted without its doubled dots, and one byte too many is too many', () => {
  const message = `..${'x'.repeat(97)}\r\n.\r\n`
  assert.equal(read([bytes(message)], 100).outcome.kind, 'source')
  assert.deepEqual(read([bytes(message)], 99), { outcome: { kind: 'too_large' }, rest: '' })
})
