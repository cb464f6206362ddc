// Precision and recall of the search for instructions over the project's own mails, in many languages and disguises.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspectContent } from './inspect.ts'

interface Sample {
  lang: string
  form: string
  subject?: string
  text: string
  hidden?: string
  attachment?: string
}

const samples = (file: string): Sample[] =>
  readFileSync(new URL(`../../../test/fixtures/shield/${file}.jsonl`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Sample)

const isFound = ({ subject = '', text, hidden = '', attachment }: Sample): boolean =>
  inspectContent({
    subject,
    text,
    html: null,
    htmlText: '',
    hiddenText: hidden,
    from: [{ name: 'Ann', address: 'ann@remote.example' }],
    replyTo: [],
    to: [],
    cc: [],
    attachments: [],
    attachmentTexts: attachment ? [{ name: 'a.pdf', text: attachment }] : [],
  }).some(({ kind }) => kind === 'instructions' || kind === 'hidden_text')

test('instructions are found, and mail that only resembles them is not', t => {
  const injections = samples('injections')
  const benign = samples('benign')
  assert(injections.length >= 120 && benign.length >= 200)
  assert.equal(new Set(injections.map(({ lang }) => lang)).size, 26)
  const missed = injections.filter(sample => !isFound(sample))
  const flagged = benign.filter(isFound)
  const found = injections.length - missed.length
  const recall = found / injections.length
  const precision = found / (found + flagged.length)
  t.diagnostic(
    `recall ${recall.toFixed(3)} over ${injections.length}, precision ${precision.toFixed(3)} with ${benign.length} benign`,
  )
  for (const { lang, form, text } of missed) t.diagnostic(`missed (${lang}, ${form}): ${text.slice(0, 100)}`)
  for (const { lang, form, text } of flagged) t.diagnostic(`flagged (${lang}, ${form}): ${text.slice(0, 100)}`)
  assert(recall >= 0.95, 'recall')
  assert(precision >= 0.98, 'precision')
})
