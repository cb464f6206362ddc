// CSV as spreadsheets read it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvRow } from './csv.ts'

test('rows end with CRLF, and fields are quoted where they hold what would end them', () => {
  assert.equal(csvRow(['2026-11-01', 'plain', '12']), '2026-11-01,plain,12\r\n')
  assert.equal(
    csvRow(['a,b', 'say "hi"', 'two\r\nlines', ' padded ']),
    '"a,b","say ""hi""","two\r\nlines"," padded "\r\n',
  )
})

test('what begins like a formula is text', () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
    assert.equal(csvRow([`${start}cmd|' /C calc'!A0`]).replace(/^"?/, '')[0], "'", JSON.stringify(start))
  }
  assert.equal(csvRow(['=1+1']), '"\'=1+1"\r\n')
  assert.equal(csvRow(['a=1']), 'a=1\r\n')
})

test('every field comes back as it was, but for the apostrophe in front of formulas', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }), fields => {
      assert.deepEqual(
        parse(csvRow(fields)),
        fields.map(field => (/^[=+\-@\t\r\n＝＋－＠]/.test(field) ? `'${field}` : field)),
      )
    }),
  )
})

/** A reader by the book (RFC 4180 §2) of one row. */
function parse(row: string): string[] {
  assert.ok(row.endsWith('\r\n'))
  const fields = [...row.slice(0, -2).matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|$)/g)].map(match => match[1]!)
  // An empty match at the very end is no field unless a comma stands before it.
  if (fields.length > 1 && !row.slice(0, -2).endsWith(',')) fields.pop()
  return fields.map(field => (field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field))
}
