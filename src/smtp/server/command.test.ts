// Commands are read strictly, and AUTH yields a name and a password or nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseCommand, parseMail, parseRcpt } from './command.ts'
import { beginLogin, type LoginStep } from './login.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

const ascii = { smtputf8: false }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('a command is its first word, whatever its case', () => {
  assert.deepEqual(parseCommand('noop'), { verb: 'NOOP', argument: '' })
  assert.deepEqual(parseCommand('Mail from:<a@b.example>'), { verb: 'MAIL', argument: 'from:<a@b.example>' })
})

test('MAIL takes one path in angle brackets and the parameters that were offered', () => {
  const ok = (argument: string) => {
    const parsed = parseMail(argument)
    assert.equal(parsed.kind, 'ok', argument)
    return parsed.kind === 'ok' ? parsed.value : null
  }
  assert.deepEqual(ok('FROM:<>'), { path: '', size: null, smtputf8: false })
  assert.deepEqual(ok('from:<a@b.example> SIZE=12 body=8bitmime AUTH=<>'), {
    path: 'a@b.example',
    size: 12,
    smtputf8: false,
  })
  assert.equal(ok('FROM: <a@b.example>')?.path, 'a@b.example')
  assert.equal(ok('FROM:<"a > b"@c.example>')?.path, '"a > b"@c.example')
  assert.equal(ok('FROM:<ü@b.example> SMTPUTF8')?.smtputf8, true)
})

test('anything else in MAIL is refused, with a code that tells why', () => {
  const cases: [string, RegExp][] = [
    ['', /^501 5\.5\.4/],
    ['FROM', /^501 5\.5\.4/],
    ['FROM:a@b.example', /^501 5\.5\.4/],
    ['FROM:<a@b.example', /^501 5\.5\.4/],
    ['FROM:<a@b.example>>', /^501 5\.5\.4/],
    ['FROM:<a@b.example> <c@d.example>', /^501 5\.5\.4/],
    ['FROM:<a@b.example>SIZE=1', /^501 5\.5\.4/],
    ['FROM:<a b@c.example>', /^501 5\.5\.4/],
    [`FROM:<${'a'.repeat(255)}>`, /^501 5\.5\.4/],
    ['FROM:<a@b.example> SIZE=x', /^501 5\.5\.4/],
    ['FROM:<a@b.example> SIZE=1 SIZE=1', /^501 5\.5\.4/],
    ['FROM:<a@b.example> BODY=BINARYMIME', /^501 5\.5\.4/],
    ['FROM:<a@b.example> SMTPUTF8=1', /^501 5\.5\.4/],
    ['FROM:<a@b.example> RET=HDRS', /^555 5\.5\.4 RET/],
    ['FROM:<ü@b.example>', /^553 5\.6\.7/],
    ['TO:<a@b.example>', /^501 5\.5\.4/],
  ]
  for (const [argument, reply] of cases) {
    const parsed = parseMail(argument)
    assert.equal(parsed.kind, 'refused', argument)
    assert.match(parsed.kind === 'refused' ? parsed.reply : '', reply, argument)
  }
})

test('RCPT takes one path and no parameters', () => {
  assert.deepEqual(parseRcpt('TO:<a@b.example>', ascii), { kind: 'ok', value: 'a@b.example' })
  assert.deepEqual(parseRcpt('TO:<ü@b.example>', { smtputf8: true }), { kind: 'ok', value: 'ü@b.example' })
  assert.deepEqual(parseRcpt('TO:<@x.example,@y.example:a@b.example>', ascii), { kind: 'ok', value: 'a@b.example' })
  assert.match(JSON.stringify(parseRcpt('TO:<>', ascii)), /501 5\.5\.4/)
  assert.match(JSON.stringify(parseRcpt('TO:<a@b.example> NOTIFY=NEVER', ascii)), /555 5\.5\.4/)
  assert.match(JSON.stringify(parseRcpt('TO:<ü@b.example>', ascii)), /553 5\.6\.7/)
})

test('no line takes long to read, whatever it holds', () => {
  const hostile = ['"'.repeat(2000), '\\"'.repeat(1000), '<'.repeat(2000), ' A='.repeat(600), `"${'\\'.repeat(1999)}`]
  const cpuMs = cpuStopwatch()
  for (const text of hostile) {
    parseMail(`FROM:<${text}`)
    parseMail(`FROM:<${text}>${text}`)
    parseRcpt(`TO:<${text}> ${text}`, ascii)
  }
  assert.ok(cpuMs() < 250)
})

test('PLAIN comes with the command or after it', () => {
  const attempt = { kind: 'attempt', attempt: { username: 'user', password: 'påss' } }
  assert.deepEqual(beginLogin(`PLAIN ${base64('\0user\0påss')}`), attempt)
  assert.deepEqual(beginLogin(`plain ${base64('user\0user\0påss')}`), attempt)
  assert.deepEqual(answers('PLAIN', base64('\0user\0påss')), attempt)
})

test('LOGIN asks for the name and the password', () => {
  const attempt = { kind: 'attempt', attempt: { username: 'user', password: 'pass' } }
  assert.deepEqual(answers('LOGIN', base64('user'), base64('pass')), attempt)
  assert.deepEqual(answers(`LOGIN ${base64('user')}`, base64('pass')), attempt)
})

test('a login that is malformed, cancelled or for somebody else is refused', () => {
  const cases: [string, string[], RegExp][] = [
    ['', [], /^504/],
    ['CRAM-MD5', [], /^504 5\.5\.4/],
    ['PLAIN x y', [], /^501 5\.5\.4/],
    ['PLAIN not-base64', [], /^501 5\.5\.2/],
    ['PLAIN =', [], /^501 5\.5\.2/],
    [`PLAIN ${base64('user')}`, [], /^501 5\.5\.2/],
    [`PLAIN ${base64('\0user\0')}`, [], /^501 5\.5\.2/],
    [`PLAIN ${base64('\0user\0pass\0more')}`, [], /^501 5\.5\.2/],
    [`PLAIN ${base64('boss\0user\0pass')}`, [], /^535 5\.7\.8/],
    ['PLAIN', ['*'], /^501 5\.7\.0/],
    ['LOGIN', ['*'], /^501 5\.7\.0/],
    ['LOGIN', [base64('user'), '*'], /^501 5\.7\.0/],
    ['LOGIN', [''], /^501 5\.5\.2/],
  ]
  for (const [argument, lines, reply] of cases) {
    const step = answers(argument, ...lines)
    assert.match(step.kind === 'refused' ? step.reply : step.kind, reply, `${argument} ${lines.join(' ')}`)
  }
})

test('no bytes make the dialogue fail', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (argument, line) => void answers(argument, line)))
})

function answers(argument: string, ...lines: string[]): LoginStep {
  let step = beginLogin(argument)
  for (const line of lines) if (step.kind === 'ask') step = step.next(line)
  return step
}
