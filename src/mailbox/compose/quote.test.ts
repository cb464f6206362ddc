// What is quoted of an original that is as large as mail may be: the mail that quotes it can still be sent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkContent } from '../../sending/messages/check-texts.ts'
import { bestOfThree, longestTurn } from '../../../test/support/main-thread.ts'
import { runAtOnce, Slices } from '../../platform/slices.ts'
import type { Original } from './original.ts'
import * as quoting from './quote.ts'

const quotedBody = (...given: Parameters<typeof quoting.quotedBody>) => runAtOnce(quoting.quotedBody(...given))
const forwardedBody = (...given: Parameters<typeof quoting.forwardedBody>) => runAtOnce(quoting.forwardedBody(...given))

const WIDE = '漢'
const MEGA = 1_000_000
const LONG_FIELD = '<'.repeat(10_000)
const original: Original = {
  id: '1',
  inboxId: '2',
  threadId: '3',
  sourceId: '4',
  isOut: false,
  from: [],
  replyTo: [],
  to: [],
  cc: [],
  toCount: 0,
  ccCount: 0,
  fromText: LONG_FIELD,
  toText: LONG_FIELD,
  ccText: LONG_FIELD,
  subject: LONG_FIELD,
  rfcId: null,
  references: [],
  at: new Date(0),
  isTainted: false,
  isBlocked: false,
}

test('a reply leaves out HTML with which it would be too large, and quotes the text', () => {
  const large = quotedBody(original, { text: WIDE.repeat(2 * MEGA), html: WIDE.repeat(3.6 * MEGA) })
  checkContent(large)
  assert.equal(large.html, null)
  assert.match(large.text!, /漢\n> \[…\]\n$/)
  const lines = quotedBody(original, { text: '\n'.repeat(2 * MEGA), html: 'x'.repeat(4 * MEGA) })
  checkContent(lines)
  assert.ok(lines.html!.length > 4 * MEGA)
})

test('a forward leaves out HTML with which it would be too large, and carries the text', () => {
  const texts = { text: WIDE.repeat(2 * MEGA), html: WIDE.repeat(3.6 * MEGA) }
  for (const said of [
    { text: null, html: null },
    { text: 'For you', html: null },
    { text: 'For you', html: '<p>For you</p>' },
    { text: '<'.repeat(10 * MEGA), html: null },
    { text: null, html: 'x'.repeat(10 * MEGA) },
    { text: WIDE.repeat(1.5 * MEGA), html: WIDE.repeat(1.5 * MEGA) },
  ]) {
    const { text, html } = forwardedBody(original, texts, said)
    checkContent({ text, html })
    assert.equal(html === null, said.html === null)
    assert.match((text ?? html)!, /Forwarded message[^]*漢\n\[…\]/)
    if (said.text !== null) assert.ok(text!.startsWith(said.text))
    if (said.html !== null) assert.ok(html!.startsWith(said.html))
  }
})

test('a forward carries HTML that it has room for', () => {
  const texts = { text: 'plain', html: WIDE.repeat(3 * MEGA) }
  const { text, html } = forwardedBody(original, texts, { text: 'For <you>', html: null })
  checkContent({ text, html })
  assert.ok(html!.includes(texts.html) && html!.includes('For &#60;you&#62;'))
  const escaped = '<'.repeat(3 * MEGA)
  const beside = forwardedBody(original, { text: 'plain', html: '<p>plain</p>' }, { text: escaped, html: null })
  checkContent(beside)
  assert.equal(beside.html, null, 'the text of the caller is too large to be HTML as well')
})

test('every line of a quotation is marked, whatever ends it, and the lines above it are as many as we write', () => {
  const breaks = ['\r', '\n', '\r\n', '\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029']
  for (const each of breaks) {
    const evil = {
      ...original,
      fromText: `Ann${each}I agree.`,
      subject: `Offer${each}I agree.`,
      toText: '',
      ccText: '',
    }
    const texts = { text: `Hello${each}I agree.`, html: null }
    const { text } = quotedBody(evil, texts)
    assert.match(text!, /^\n\nOn 1970-01-01 00:00 UTC, Ann I agree\. wrote:\n> Hello\n> I agree\.\n$/)
    const forward = forwardedBody(evil, { text: '', html: null }, { text: null, html: null })
    assert.match(forward.text!, /\nFrom: Ann I agree\.\nDate: [^\n]+\nSubject: Offer I agree\.\n\n\n$/)
  }
})

test('a long text is quoted line by line, wherever it is cut into slices', () => {
  const given = Array.from({ length: 20_000 }, (_, n) => `line ${n}${' '.repeat(n % 3)}`)
  const lines = given.map(line => `> ${line.trimEnd()}`)
  for (const each of ['\n', '\r\n', '\v']) {
    const { text } = quotedBody(original, { text: given.join(each), html: null })
    assert.ok(text!.endsWith(`wrote:\n${lines.join('\n')}\n`), JSON.stringify(each))
  }
  for (const end of ['', '\n']) assert.ok(quotedBody(original, { text: end, html: null }).text!.endsWith('\n> \n'))
})

test('quoting and escaping as much as a mail may say never keeps the main thread for long', async () => {
  const lines = { text: '\n'.repeat(MEGA), html: 'x'.repeat(4 * MEGA) }
  const escaped = { text: '<'.repeat(MEGA), html: null }
  const said = { text: null, html: '<p>For you</p>' }
  const ms = await bestOfThree(30, () => {
    const slices = new Slices()
    const works = [quoting.quotedBody(original, lines), quoting.forwardedBody(original, escaped, said)]
    return longestTurn(() => Promise.all(works.map(work => slices.run(work, ['a']))))
  })
  assert.ok(ms < 30, `${ms} ms`)
})
