// What people type, and what is searched for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../platform/refusal.ts'
import { parseQuery } from './parse-query.ts'
import { tsQueryOf } from './tsquery.ts'
import { anyText } from '../../../test/support/any-text.ts'

const required = (q: string): string | null => tsQueryOf(parseQuery(q).groups).required
const filters = (q: string) => parseQuery(q).groups.flatMap(group => (group.kind === 'filter' ? group.any : []))

test('words, phrases, words left out and alternatives', () => {
  assert.equal(required('Invoice due'), `('invoice') & ('due':*)`)
  assert.equal(required('du'), `('du')`)
  assert.equal(required('"Invoice due"'), `(('invoice' <-> 'due'))`)
  assert.equal(required('invoice -draft due'), `('invoice') & ('due':*) & !('draft')`)
  assert.equal(required('cat or "big dog" food'), `('cat' | ('big' <-> 'dog')) & ('food':*)`)
  assert.equal(required('cat OR dog or bird'), `('cat' | 'dog' | 'bird':*)`)
  assert.equal(required('cat or -dog'), `('cat' | !('dog'))`)
  assert.deepEqual(tsQueryOf(parseQuery('-draft -"not this"').groups), {
    required: null,
    loose: null,
    ranking: null,
    excluded: `'draft' | ('not' <-> 'this')`,
  })
  const loose = (q: string) => tsQueryOf(parseQuery(q).groups).loose
  assert.equal(loose('"big dog" -cat -"a b"'), `(('big' & 'dog')) & !('cat')`)
  assert.equal(loose('cat or -"a b"'), null)
  assert.equal(tsQueryOf(parseQuery('cat or -"a b" -dog').groups).ranking, `('cat')`)
  assert.equal(loose('cat -dog'), required('cat -dog'))
})

test('what was written together is searched for together', () => {
  assert.equal(required('INV-2026'), `(('inv' <-> '2026':*))`)
  assert.equal(required('https://example.com/a'), `(('https' <-> 'example' <-> 'com' <-> 'a'))`)
  assert.equal(required('ann@x.de b'), `(('ann@x.de' | ('ann' <-> 'x' <-> 'de'))) & ('b')`)
  assert.equal(required('1.234,50 b'), `(('123450' | ('1' <-> '234' <-> '50'))) & ('b')`)
  assert.equal(required('検索エンジン'), `(('検索' <-> '索エ' <-> 'エン' <-> 'ンジ' <-> 'ジン'))`)
  assert.equal(required('検索 字'), `('検索') & ('字':*)`)
  assert.equal(required('2026年度x'), `(('2026' <-> '年度' <2> 'x'))`)
})

test('operators of a field look into that field', () => {
  assert.equal(required('from:Ann invoice'), `('f=ann') & ('invoice':*)`)
  assert.equal(required('to:ann@x.de'), `(('t=ann@x.de' | ('t=ann' <-> 't=x' <-> 't=de')))`)
  assert.equal(required('SUBJECT:"Year end" -from:bob'), `(('s=year' <-> 's=end')) & !('f=bob')`)
})

test('operators of messages', () => {
  assert.deepEqual(filters('has:attachment -has:attachments'), [
    { isNegated: false, by: { kind: 'attachment' } },
    { isNegated: true, by: { kind: 'attachment' } },
  ])
  assert.deepEqual(filters('label:"To do" or label:later in:Archive'), [
    { isNegated: false, by: { kind: 'label', label: 'To do' } },
    { isNegated: false, by: { kind: 'label', label: 'later' } },
    { isNegated: false, by: { kind: 'folder', name: 'Archive' } },
  ])
  const timeOf = (q: string) => filters(q).map(({ by }) => 'time' in by && by.time.toISOString())
  assert.deepEqual(timeOf('before:2026-11-16 after:2026/1/2'), ['2026-11-16T00:00:00.000Z', '2026-01-02T00:00:00.000Z'])
  assert.deepEqual(timeOf('before:2026-11 after:2025'), ['2026-11-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'])
  assert.deepEqual(timeOf('after:2026-11-16T10:00:00+01:00'), ['2026-11-16T09:00:00.000Z'])
})

test('what is no operator is read as words, and so is what stands in quotation marks', () => {
  assert.equal(required('12:30 sharp'), `(('12' <-> '30')) & ('sharp':*)`)
  assert.equal(required('note:x y'), `(('note' <-> 'x')) & ('y')`)
  assert.equal(required('"from:ann"'), `(('from' <-> 'ann'))`)
  assert.equal(required('or cat'), `('or') & ('cat':*)`)
  assert.equal(required('cat or'), `('cat') & ('or')`)
  assert.equal(required('- cat -- dog'), `('cat') & ('dog':*)`)
  assert.equal(required('"never closed'), `(('never' <-> 'closed'))`)
  assert.equal(required(`it's & | ! ( ) <-> :* \\ '' cat`), `(('it' <-> 's')) & ('cat':*)`)
})

test('an operator that makes no sense is refused by its name', () => {
  const messageOf = (q: string): string => {
    try {
      parseQuery(q)
    } catch (error) {
      if (error instanceof Refusal && error.code === 'invalid_request') return error.message
      throw error
    }
    return 'no refusal'
  }
  for (const operator of ['from', 'to', 'subject', 'label', 'in'])
    for (const value of ['', ' x', '""', '"  "'])
      assert.equal(messageOf(`cat ${operator}:${value}`), `${operator}: in q needs a value right behind it.`)
  for (const value of ['', 'nothing', 'attachmentt', '"x"']) assert.match(messageOf(`has:${value}`), /^has: in q takes/)
  for (const operator of ['before', 'after'])
    for (const value of [
      '',
      'yesterday',
      '2026-13',
      '2026-02-30',
      '2026-02-30T00:00:00Z',
      '20261116',
      '0000',
      '2026-11-16T10:00',
      '99999-01-01',
      '-5',
    ])
      assert.match(messageOf(`${operator}:${value}`), new RegExp(`^${operator}: in q takes a day`))
  assert.match(messageOf('cat or label:x'), /^or in q stands between/)
  for (const q of ['', '   ', '-', '"', '""', '???', '&|!():*', '\u0000', '\ud800'])
    assert.equal(messageOf(q), 'q has no word to search for.', JSON.stringify(q))
  assert.match(messageOf('cat '.repeat(51)), /^q has too many words/)
  assert.match(messageOf('字'.repeat(300)), /^q has too many words/)
})

test('whatever is typed is a query or a refusal', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'from:',
      'in:',
      'has:',
      'before:',
      '"',
      '-',
      ' or ',
      ' ',
      "'",
      '\\',
      ':*',
      '<->',
      '&',
      '|',
      '(',
      ')',
    ),
    anyText({ maxLength: 8 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      try {
        const { required: words } = tsQueryOf(parseQuery(pieces.join('')).groups)
        if (words) assert.match(words, /^(?:'[\p{L}\p{N}\p{M}._+\-@=]+'(?::\*)?|[ ()|&!]|<->|<2>)+$/u)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }),
    { numRuns: 150 },
  )
})
