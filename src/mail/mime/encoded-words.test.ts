import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { decodeWords, encodeWords, isPlainHeaderText } from './encoded-words.ts'
import { anyText } from '../../../test/support/any-text.ts'

test('any text comes back from its encoded-words unchanged', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), text => {
      assert.equal(decodeWords(encodeWords(text)), text.toWellFormed())
    }),
  )
})

test('every encoded-word is ASCII, at most 75 characters, and holds whole characters only', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 400 }), text => {
      for (const word of encodeWords(text).split(' ')) {
        assert.match(word, /^=\?UTF-8\?[QB]\?[!->@-~]*\?=$/)
        assert(word.length <= 75)
        assert(text.includes('\ufffd') || !decodeWords(word).includes('\ufffd'), `half a character in ${word}`)
      }
    }),
  )
})

test('mostly Latin text is quoted and stays legible, other scripts are base64, whichever is shorter', () => {
  assert.equal(encodeWords('Café au lait'), '=?UTF-8?Q?Caf=C3=A9_au_lait?=')
  assert.match(encodeWords('日本語の件名'), /^=\?UTF-8\?B\?/)
})

test('words in the charsets of older senders are decoded', () => {
  assert.equal(decodeWords('=?ISO-8859-1?Q?Andr=E9?= Pirard'), 'André Pirard')
  assert.equal(decodeWords('=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?='), '日本')
})

test('what is no encoded-word stays as it was', () => {
  assert.equal(decodeWords('2 =? 3 and ?= too'), '2 =? 3 and ?= too')
})

test('text is plain only if a reader will see exactly what was written', () => {
  for (const plain of ['', 'x', 'Order 12 shipped', 'a  b']) assert(isPlainHeaderText(plain), plain)
  for (const odd of ['é', ' x', 'x ', 'a\tb', 'a\r\nb', 'literal =?UTF-8?Q?x?=']) assert(!isPlainHeaderText(odd), odd)
})
