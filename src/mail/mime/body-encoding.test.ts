import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { bestOfThree, cpuStopwatch } from '../../../test/support/main-thread.ts'
import { base64Size, encodeText, hasLongLine, writeBase64 } from './body-encoding.ts'

test('base64 is that of the platform, in lines of 76', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 700 }), bytes => {
      const content = Buffer.from(bytes)
      const target = Buffer.alloc(base64Size(content.length) + 1, 0)
      assert.equal(writeBase64(content, target, 1), target.length)
      const expected = content.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n')
      assert.equal(target.toString('latin1', 1), expected)
    }),
  )
})

const texts = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('ü', ' ', '\t', '=', '\n', '\r\n', ' \n', 'x'.repeat(75)),
    ),
    {
      maxLength: 60,
    },
  )
  .map(pieces => `${pieces.join('')}ü${'plain text around it, enough to make quoting worthwhile. '.repeat(20)}`)

test('quoted-printable decodes to the text, in lines of 76 that neither end in a blank nor split a character', () => {
  let quoted = 0
  fc.assert(
    fc.property(texts, text => {
      const encoded = encodeText(text)
      if (encoded.encoding !== 'quoted-printable') return
      quoted++
      const source = encoded.content.toString('latin1')
      for (const line of source.split('\r\n')) {
        assert(line.length <= 76)
        assert.match(line, /^([\t -<>-~]|=[0-9A-F]{2})*=?$/)
        assert.doesNotMatch(line, /[ \t]$/)
        assert.doesNotThrow(() => unquote(line.replace(/=$/, '')), 'half a character')
      }
      assert.equal(unquote(source.replaceAll('=\r\n', '')), text.replace(/\r\n?|\n/g, '\r\n'))
    }),
  )
  assert(quoted > 50, `only ${quoted} texts were quoted: the property proves little`)
})

/** Throws where the bytes are not whole characters. */
function unquote(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
}

test('every kind of line break becomes CRLF', () => {
  const encoded = encodeText('a\nb\rc\r\nd\n\re')
  assert(encoded.encoding === '7bit')
  assert.equal(encoded.content.toString(), 'a\r\nb\r\nc\r\nd\r\n\r\ne')
})

test('a line break stays one wherever a long text is cut into slices', () => {
  for (const lineBreak of ['\r\n', '\n', '\r', 'x\r\n', 'xy\r\n']) {
    const encoded = encodeText(lineBreak.repeat(100_000))
    assert(encoded.encoding === '7bit')
    assert.equal(encoded.content.toString(), lineBreak.replace(/\r?\n|\r/, '\r\n').repeat(100_000))
  }
})

test('a long text that is not 7bit is base64, and a short one quoted', () => {
  const text = (length: number) => 'x'.repeat(length)
  assert.equal(encodeText(text(512 * 1024)).encoding, 'quoted-printable')
  assert.equal(encodeText(text(512 * 1024 + 1)).encoding, 'base64')
})

test('ten million line breaks take one pass', async () => {
  const text = '\n'.repeat(10_000_000)
  const ms = await bestOfThree(1_500, () => {
    const stopwatch = cpuStopwatch()
    encodeText(text)
    return stopwatch()
  })
  assert.ok(ms < 1_500, `${ms} ms`)
})

test('a line of 998 bytes passes and one of 999 does not, wherever it stands', () => {
  const line = (length: number) => 'x'.repeat(length)
  for (const [before, after] of [
    ['', ''],
    ['a\r\n', ''],
    ['', '\r\nb'],
    [`${line(998)}\r\n`, `\r\n${line(998)}\r\n`],
  ]) {
    assert(!hasLongLine(Buffer.from(before + line(998) + after)))
    assert(hasLongLine(Buffer.from(before + line(999) + after)))
  }
})
