// Senders that look like somebody else, and those that only resemble them by right.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectAgainstKnown, inspectSenders } from './sender.ts'

const seen = (name: string, address: string, replyTo: string[] = []): string[] =>
  inspectSenders(
    [{ name, address }],
    replyTo.map(each => ({ name: '', address: each })),
  ).map(({ kind }) => kind)

test('a name that shows another address, or a brand, is a look-alike', () => {
  assert.deepEqual(seen('boss@acme.example', 'x@evil.example'), ['lookalike_sender'])
  assert.deepEqual(seen('Boss (boss @ acme.example)', 'x@evil.example'), ['lookalike_sender'])
  assert.deepEqual(seen('ｂｏｓｓ＠acme.example', 'x@evil.example'), ['lookalike_sender'])
  assert.deepEqual(seen('PayPal Service', 'service@pay-update.example'), ['lookalike_sender'])
  assert.deepEqual(seen('Раyраl', 'service@pay-update.example'), ['lookalike_sender'])
  assert.deepEqual(seen('Microsoft 365 Security Team', 'x@evil.example'), ['lookalike_sender'])
  assert.deepEqual(seen('boss@mail.acme.co.uk', 'boss@acme.co.uk'), [])
  assert.deepEqual(seen('PayPal', 'service@paypal.com'), [])
  assert.deepEqual(seen('PayPal', 'service@mail.paypal.de'), [])
  assert.deepEqual(seen('Microsoft Teams', 'no-reply@teams.mail.microsoft'), [])
  assert.deepEqual(seen('Apple Orchard Cider Club', 'hello@cider.example'), [])
  assert.deepEqual(seen('Chase Miller', 'chase@miller.example'), [])
})

test('a domain in letters that only look Latin, or one slip from a brand, is a look-alike', () => {
  for (const domain of [
    'xn--80ak6aa92e.com',
    'раураl.com',
    'paypa1.com',
    'rnicrosoft.com',
    'arnazon.de',
    'micosoft.com',
    'gooogle.com',
  ]) {
    assert.deepEqual(seen('', `x@${domain}`), ['lookalike_sender'], domain)
  }
  for (const domain of [
    'xn--mnchen-3ya.de',
    'пример.рф',
    'paypal.com',
    'pineapple.example',
    'amazonia.example',
    'apples.example',
  ]) {
    assert.deepEqual(seen('', `x@${domain}`), [], domain)
  }
})

test('domains one slip from the own or a known one are look-alikes; the known ones themselves are not', () => {
  const known = ['northwind.example', 'contoso.com', 'gmail.com']
  const against = (address: string, name = ''): number => inspectAgainstKnown({ name, address }, known).length
  for (const address of [
    'x@n0rthwind.example',
    'x@nortwhind.example',
    'x@northwlnd.example',
    'x@cont0so.com',
    'x@contosso.com',
  ]) {
    assert.equal(against(address), 1, address)
  }
  assert.equal(against('x@evil.example', 'northwind.example Helpdesk'), 1)
  for (const address of [
    'x@northwind.example',
    'x@mail.northwind.example',
    'x@contoso.com',
    'x@other.example',
    'x@gmai.example',
    '',
  ]) {
    assert.equal(against(address), 0, address)
  }
})

test('answers that go to another organisation are told, under another suffix of the same name they are not', () => {
  assert.deepEqual(seen('', 'ceo@acme.example', ['ceo.acme@gmail.com']), ['reply_to_mismatch'])
  assert.deepEqual(seen('', 'ceo@acme.example', ['x@evil.example']), ['reply_to_mismatch'])
  assert.deepEqual(seen('', 'news@mail.acme.example', ['help@acme.example']), [])
  assert.deepEqual(seen('', 'news@acme.com', ['help@acme.de']), [])
  assert.deepEqual(seen('', 'ceo@acme.example'), [])
  assert.deepEqual(inspectSenders([], [{ name: '', address: 'x@y.example' }]), [])
})
