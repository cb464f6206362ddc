// Who a message is from is read alike by every parser, because it leaves in one plain form; what cannot be is refused.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import addressparser from 'nodemailer/lib/addressparser'
import { addressParser } from 'postal-mime'
import { valueOf, valuesOf } from '../../mail/mime/headers.ts'
import { Refusal } from '../../platform/refusal.ts'
import { FROM, prepare, refusalOf } from './prepare-mail.fixture.ts'
import { message } from './submission.fixture.ts'

const hasPython = spawnSync('python3', ['-c', 'import email.headerregistry']).status === 0

/** What Python's old and new parsers read in each From line: lists of addresses. */
const PYTHON = `
import json, sys
from email import message_from_bytes, policy
from email.utils import getaddresses
read = []
for line in json.load(sys.stdin):
    source = (line + "\\r\\n\\r\\n").encode("utf-8")
    old = getaddresses([str(message_from_bytes(source)["From"]).replace("\\r\\n", "")])
    new = message_from_bytes(source, policy=policy.default)["From"]
    read.append([[address for _, address in old], [a.addr_spec for a in new.addresses]])
json.dump(read, sys.stdout)
`

function readByPython(lines: string[]): string[][][] {
  const run = spawnSync('python3', ['-c', PYTHON], { input: JSON.stringify(lines), encoding: 'utf8' })
  assert.equal(run.status, 0, run.stderr)
  return JSON.parse(run.stdout)
}

/** The field From as it left, folds and all. */
const lineOf = (text: string): string => /^From:(?:.*\r\n[ \t])*.*/m.exec(text)![0]

const TRICKS = [
  '(\\) "x) <ceo@bank.example> (y" <mallory@own.example>',
  '(\\) <ceo@bank.example> (\\) <mallory@own.example>',
  '((x) <ceo@bank.example> () <mallory@own.example>',
  'mallory@own.example (<ceo@bank.example>)',
  'mallory@own.example (ceo@bank.example)',
  'ma(x)llory@own.example',
  '"x\\" <ceo@bank.example> (y" (z" <mallory@own.example>',
  '<ceo@bank.example> (x) <mallory@own.example>',
  'ceo@bank.example (x) <mallory@own.example>',
  '<@ceo.example:mallory@own.example>',
  'mallory@own.example (x:y)',
  '(x), mallory@own.example',
  '=?UTF-8?Q?ceo=40bank=2Eexample?=@own.example',
]

test('a From that parsers could read differently is refused', () => {
  for (const value of TRICKS) assert.match(refusalOf(message(`From: ${value}`, '', '')), /^550 5\.6\.0/, value)
  for (const line of ['From : ceo@bank.example', 'Sender\t: ceo@bank.example', 'Reply-To : ceo@bank.example']) {
    assert.match(refusalOf(message(line, FROM, '', '')), /^550 5\.6\.0/, line)
  }
})

test('From leaves as we have read it: name and address, nothing else', () => {
  const written = (value: string) => valuesOf(prepare(message(`From: ${value}`, 'X-A: b', '', '')).fields, 'from')
  assert.deepEqual(written('a@x.example (Cron Daemon)'), ['a@x.example'])
  assert.deepEqual(written('"Doe, A" <a@X.example> (x)'), ['"Doe, A" <a@x.example>'])
  assert.deepEqual(written('Jane\r\n\t<a@x.example>'), ['Jane <a@x.example>'])
  assert.deepEqual(written('"Jane" <"a"@x.example>'), ['Jane <a@x.example>'])
  assert.deepEqual(written('=?UTF-8?Q?=3Cceo=40bank=2Eexample=3E?= <a@x.example>'), [
    '"<ceo@bank.example>" <a@x.example>',
  ])
})

test('Sender is ours or gone, Reply-To is a plain list, and both are refused when they are tricks', () => {
  const field = (line: string, name: string) => valueOf(prepare(message(FROM, line, '', '')).fields, name)
  assert.equal(field('Sender: (x) Bot <bot@acme.example>', 'sender'), 'Bot <bot@acme.example>')
  assert.equal(field('Sender: ceo@bank.example', 'sender'), null)
  assert.equal(field('Sender: root', 'sender'), null)
  assert.equal(
    field('Reply-To: team: "A, B" <a@x.example>, (x) b@y.example;', 'reply-to'),
    '"A, B" <a@x.example>, b@y.example',
  )
  assert.equal(field('Reply-To:', 'reply-to'), null)
  for (const value of [...TRICKS, 'a@x.example, b@y.example']) {
    if (/^<@|x:y/.test(value)) continue
    assert.match(refusalOf(message(FROM, `Sender: ${value}`, '', '')), /^550 5\.6\.0/, value)
  }
  for (const value of TRICKS.slice(0, 7)) {
    assert.match(refusalOf(message(FROM, `Reply-To: ${value}`, '', '')), /^550 5\.6\.0/, value)
  }
})

const soup = fc
  .array(
    fc.oneof(
      fc.constantFrom('(', ')', '\\', '"', '<', '>', '@', ',', ';', ':', ' ', '\t', '.', '[', ']', '=?', '?=', 'é'),
      fc.constantFrom('ceo@bank.example', '<ceo@bank.example>', 'mallory@own.example', '<mallory@own.example>'),
      fc.constantFrom('"ceo@bank.example"', '(ceo)', 'x', '=?UTF-8?Q?=22=3Cceo=40bank=2Eexample=3E?=', '\\"', '\\)'),
    ),
    { minLength: 1, maxLength: 9 },
  )
  .map(pieces => pieces.join(''))
const likely = fc.tuple(soup, fc.constantFrom('', '"', '"" ')).map(([text, quote]) => `${quote}${text}${quote}`)
/** A name in quotes is let out whatever stands in it. */
const quoted = soup.map(text => `"${text.replaceAll(/["\\]/g, '\\$&')}"`)
const value = fc.oneof(
  soup,
  quoted.map(name => `${name} <mallory@own.example>`),
  likely.map(name => `${name} <mallory@own.example>`),
  soup.map(text => `mallory@own.example (${text})`),
)

test('whatever From is let out reads as the same single address everywhere', t => {
  if (!hasPython) t.diagnostic('python3 is not on this machine: its parsers were not asked')
  const letOut: { line: string; sender: string; given: string }[] = []
  fc.assert(
    fc.property(value, given => {
      try {
        const { submission, text } = prepare(message(`From: ${given}`, 'Subject: x', '', ''))
        // Python's old parser has no form for an address in UTF-8.
        if (submission.needsSmtputf8) return
        letOut.push({ line: lineOf(text), sender: submission.sender, given })
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }),
    { numRuns: 6_000 },
  )
  assert.ok(letOut.length > 500, `only ${letOut.length} were let out`)
  const byPython = hasPython ? readByPython(letOut.map(({ line }) => line)) : []
  for (const [index, { line, sender, given }] of letOut.entries()) {
    const text = line.replaceAll('\r\n', '').slice('From:'.length).trim()
    const readings = [
      ...(byPython[index] ?? []),
      addressparser(text).map(mailbox => mailbox.address),
      addressParser(text).map(mailbox => mailbox.address),
    ]
    for (const reading of readings) assert.deepEqual(reading, [sender], `${JSON.stringify(given)} left as ${line}`)
  }
})
