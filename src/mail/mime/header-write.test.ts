import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { decodeWords } from './encoded-words.ts'
import { customHeader, formatDate, headerLine, parameterHeader, textHeader } from './header-write.ts'

const unfold = (field: string): string => field.replace(/\r\n(?=[ \t])/g, '').replace(/\r\n$/, '')
const linesOf = (field: string): string[] => field.split('\r\n').slice(0, -1)

test('a short field is one line', () => {
  assert.equal(headerLine('X-A', 'b'), 'X-A: b\r\n')
  assert.equal(headerLine('X-A', ''), 'X-A:\r\n')
})

test('a long field is folded before blanks and unfolds to itself', () => {
  const printable = fc.stringMatching(/^[!-~]([ -~]{0,600}[!-~])?$/)
  fc.assert(
    fc.property(printable, value => {
      const field = headerLine('X-Test', value)
      assert.equal(unfold(field), `X-Test: ${value}`)
      for (const line of linesOf(field)) {
        assert.match(line, /\S/, 'a line of blanks alone would end the header for some readers')
        assert(line.length <= 78 || /^\s*\S+$/.test(line), 'only a single word may be longer than a line')
      }
    }),
  )
})

test('a word that is longer than any line may be is cut into encoded-words', () => {
  for (const write of [customHeader, textHeader]) {
    const field = write('X-Long', 'y'.repeat(998))
    assert(linesOf(field).every(line => line.length <= 78))
    assert.equal(decodeWords(unfold(field)), `X-Long: ${'y'.repeat(998)}`)
  }
})

test('free text is read back exactly, in lines that RFC 2047 allows', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 900 }), text => {
      const field = textHeader('Subject', text)
      const lines = linesOf(field)
      assert.equal(decodeWords(unfold(field)).slice('Subject:'.length).replace(/^ /, ''), text)
      if (!/^Subject: [!-~]/.test(field) || field.includes('=?'))
        assert(
          lines.every(line => line.length <= 78),
          field,
        )
    }),
  )
})

test('control characters in a subject become blanks', () => {
  assert.equal(decodeWords(textHeader('Subject', 'a\r\nBcc: x\0y')).trim(), 'Subject: a  Bcc: x y')
})

test("a customer's ASCII value is left as it is, the rest is encoded", () => {
  assert.equal(customHeader('X-A', ' =?UTF-8?Q?x?= '), 'X-A: =?UTF-8?Q?x?=\r\n')
  assert.equal(customHeader('X-A', 'Grün'), 'X-A: =?UTF-8?B?R3LDvG4=?=\r\n')
})

test('parameters stand in one line or each in its own', () => {
  assert.equal(parameterHeader('Content-Disposition', 'inline', []), 'Content-Disposition: inline\r\n')
  assert.equal(
    parameterHeader('Content-Disposition', 'attachment', [`filename="${'x'.repeat(50)}"`, 'size=1']),
    `Content-Disposition: attachment;\r\n filename="${'x'.repeat(50)}";\r\n size=1\r\n`,
  )
})

test('a date is written in UTC with a numeric zone', () => {
  assert.equal(formatDate(new Date('2026-01-02T03:04:05.678Z')), 'Fri, 02 Jan 2026 03:04:05 +0000')
})
