// Why a message was found, as people see it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { highlight, soughtIn } from './highlight.ts'
import { parseQuery } from './parse-query.ts'

const shown = (q: string, text: string): string | null => highlight(text, soughtIn(parseQuery(q)))

test('what was searched for is marked, whatever its case and accents, and the last word by its beginning', () => {
  assert.equal(shown('ete invoice', 'Two INVOICES for the Été.'), 'Two <mark>INVOICES</mark> for the <mark>Été</mark>.')
  assert.equal(shown('invoice ete', 'Two invoices'), null)
  assert.equal(shown('"big dog"', 'a big cat, a dog'), 'a <mark>big</mark> cat, a <mark>dog</mark>')
  assert.equal(shown('cat -dog', 'cat and dog'), '<mark>cat</mark> and dog')
  assert.equal(
    shown('ann@example.com', 'to ann@example.com'),
    'to <mark>ann</mark>@<mark>example</mark>.<mark>com</mark>',
  )
  assert.equal(shown('エンジン', '新しい検索エンジンです'), '新しい検索<mark>エンジン</mark>です')
})

test('everything else is escaped', () => {
  assert.equal(
    shown('cat', `<img src=x onerror="alert('cat')"> & <mark>`),
    '&#60;img src=x onerror=&#34;alert(&#39;<mark>cat</mark>&#39;)&#34;&#62; &#38; &#60;mark&#62;',
  )
})

test('a long text is shown around the first hit', () => {
  const text = `${'before '.repeat(500)}needle ${'after '.repeat(500)}`
  const snippet = shown('needle', text)!
  assert.match(snippet, /^… (?:before )+<mark>needle<\/mark>(?: after)+ …$/)
  assert.ok(snippet.length < 250)
  const noSpace = shown('needle', `${'x-'.repeat(500)}needle${'-x'.repeat(500)}`)!
  assert.ok(noSpace.includes('<mark>needle</mark>') && noSpace.length < 250, noSpace)
  assert.ok(shown('needle', `${'😀'.repeat(301)} needle`)!.isWellFormed())
})
