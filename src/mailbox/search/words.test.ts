// What becomes a word, for messages and for queries alike.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compoundsOf, fold } from './lexemes.ts'
import { writtenOut } from './words.fixture.ts'
import { wordsOf } from './words.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'
import { anyText } from '../../../test/support/any-text.ts'

const aDocument = (part: Partial<Parameters<typeof wordsOf>[0]> = {}) => ({
  subject: '',
  text: '',
  htmlText: '',
  addresses: { from: [], to: [] },
  attachmentNames: [],
  attachmentTexts: [],
  ...part,
})

const wordsIn = (text: string): string[] => writtenOut(wordsOf(aDocument({ text }))).map(word => word.split(':')[0]!)

test('case, accents, compatibility forms and characters that are not seen make no difference', () => {
  for (const [written, typed] of [
    ['ÉTÉ', 'ete'],
    ['Zürich', 'zurich'],
    ['Straße', 'strasse'],
    ['Łódź', 'lodz'],
    ['Smørrebrød', 'smorrebrod'],
    ['Sǿren ǽ', 'soren ae'],
    ['ﬁnance', 'finance'],
    ['Ｓｌｕｉｃｅ', 'sluice'],
    ['in\u200bvoice', 'invoice'],
    ['in\u00advoice', 'invoice'],
    ['İstanbul', 'istanbul'],
    ['ΛΌΓΟΣ', 'λογοσ'],
    ['ёлка', 'елка'],
    ['مُحَمَّد', 'محمد'],
    ['ｶﾞｲﾄﾞ', 'ガイド'],
  ])
    assert.equal(fold(written!), fold(typed!), written)
  assert.notEqual(fold('か'), fold('が'))
})

test('addresses and numbers are found in parts and as a whole', () => {
  assert.deepEqual(wordsIn('Ann.Lee+x@Example.com,'), ['ann.lee+x@example.com', 'ann', 'lee', 'x', 'example', 'com'])
  assert.deepEqual(wordsIn('1,234.56'), ['123456', '1234', '1', '234', '56'])
  assert.deepEqual(wordsIn('1.234.567,8'), ['12345678', '1234567', '1', '234', '567', '8'])
  assert.deepEqual(wordsIn('2026-11-18'), ['20261118', '2026', '11', '18'])
  assert.deepEqual(wordsIn('INV-2026'), ['inv', '2026'])
  assert.deepEqual(wordsIn('a@b.de,c@d.de'), ['a@b.de', 'a', 'b', 'de', 'c@d.de', 'c', 'd'])
  assert.deepEqual(wordsIn("don't"), ['don', 't'])
})

test('scripts without spaces between words go by pairs of characters', () => {
  assert.deepEqual(wordsIn('検索エンジン2026年'), ['検索', '索エ', 'エン', 'ンジ', 'ジン', 'ン', '2026', '年'])
  assert.deepEqual(wordsIn('𠮷野家'), ['𠮷野', '野家', '家'])
  assert.deepEqual(wordsIn('ไทย'), ['ไท', 'ทย', 'ย'])
})

test('a word says where it stands, and in which field', () => {
  const words = wordsOf(
    aDocument({
      subject: 'Invoice',
      text: 'the invoice',
      addresses: { from: ['Ann'], to: ['Bob'] },
      attachmentNames: ['scan.pdf'],
      attachmentTexts: ['invoice'],
    }),
  )
  assert.deepEqual(writtenOut(words), [
    'invoice:1A,47C,58',
    's=invoice:1A',
    'ann:12B',
    'f=ann:12B',
    'bob:23B',
    't=bob:23B',
    'scan:34B',
    'pdf:35B',
    'the:46C',
  ])
})

test('however long a text is, its words stay within what PostgreSQL takes', () => {
  const many = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(' ')
  const words = writtenOut(wordsOf(aDocument({ text: many })))
  const bytes = words.reduce((sum, word) => sum + Buffer.byteLength(word.split(':')[0]!) + 2 + 8, 0)
  assert.ok(bytes < 1_048_575, `${bytes} bytes`)
  assert.equal(words[0], 'word0:1C')
  const [often] = writtenOut(wordsOf(aDocument({ text: 'often '.repeat(20_000) })))
  assert.equal(often!.split(',').length, 255)
  assert.equal(compoundsOf('x'.repeat(10_000))[0]!.segments[0]!.text.length, 64)
})

test('whatever a message holds, its words are ones that PostgreSQL can read', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 60 }), text => {
      for (const word of writtenOut(wordsOf(aDocument({ subject: text, text }))))
        assert.match(word, /^(?:(?:s=)?[\p{L}\p{N}\p{M}._+\-@]+(?::[\d,AC]+)?)$/u)
    }),
    { numRuns: 60 },
  )
})

test('text is read into the same words beside a character of two codes, which has another reader', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom(
      '.',
      ',',
      '@',
      '-',
      ' ',
      'é',
      'ß',
      'Яй',
      '中文字',
      'ไทย',
      'हिन्दी',
      '1,234.50',
      '１２',
      '’',
      '\u00ad',
      'ﷺ',
      'ab',
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), pieces => {
      const text = pieces.join('')
      assert.deepEqual(compoundsOf(text), compoundsOf(`${text} \u{1f600}`))
    }),
    { numRuns: 300 },
  )
})

test('addresses that are cut within a character are one word each', () => {
  const text = ['\u{10330}', '\u{1e900}'].map(letter => `${'a'.repeat(127)}${letter}@b`).join(' ')
  const words = writtenOut(wordsOf(aDocument({ text }))).map(word => word.split(':')[0])
  assert.equal(new Set(words).size, words.length)
})

test('words that expand when they are folded are read in the time of what is kept', () => {
  const cpuMs = cpuStopwatch()
  wordsOf(aDocument({ text: '\ufdfa'.repeat(2_000_000) }))
  assert.ok(cpuMs() < 5_000)
})
