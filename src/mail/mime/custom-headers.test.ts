import assert from 'node:assert/strict'
import test from 'node:test'
import { checkContentId, checkCustomHeader, isMessageId } from './custom-headers.ts'

test('ordinary headers are accepted', () => {
  const headers: [string, string][] = [
    ['X-Campaign', 'spring'],
    ['List-Unsubscribe', '<https://acme.example/u>'],
    ['In-Reply-To', '<a@b.example>'],
    ['References', '<a@b.example> <c@d.example>'],
    ['Message-ID', '<order-12@acme.example>'],
    ['X-Unicode', 'grün'],
    ['X-Tab', 'a\tb'],
    ['X-Empty', ''],
    ['X-Long', 'y'.repeat(998)],
  ]
  for (const [name, value] of headers) assert.equal(checkCustomHeader(name, value), null, name)
})

test('headers that the service owns are refused in any spelling, with the field to use instead', () => {
  for (const name of ['From', 'to', 'CC', 'Bcc', 'Reply-To', 'Subject']) {
    assert.match(checkCustomHeader(name, 'x')!, /use the field/, name)
  }
  const written = [
    'Sender',
    'Return-Path',
    'Received',
    'DKIM-Signature',
    'Date',
    'MIME-Version',
    'Content-Type',
    'CONTENT-X',
  ]
  for (const name of written) assert.match(checkCustomHeader(name, 'x')!, /written by the service/, name)
})

test('headers that other servers write, and instructions to the service, are refused', () => {
  const others = ['Authentication-Results', 'ARC-Seal', 'arc-message-signature', 'Received-SPF', 'Delivered-To']
  const resent = ['Resent-From', 'Resent-Bcc', 'RESENT-DATE']
  for (const name of [...others, ...resent]) {
    assert.match(checkCustomHeader(name, 'x')!, /cannot be set here: it is written by/, name)
  }
  assert.match(checkCustomHeader('X-Service-Tags', 'x')!, /use the field tags/)
  assert.match(checkCustomHeader('x-service-metadata', '{}')!, /use the field metadata/)
  assert.match(checkCustomHeader('Idempotency-Key', 'x')!, /use the field idempotency_key/)
  for (const name of ['X-Service-Level', 'X-Resent-From', 'Archived-At', 'X-Authentication-Results']) {
    assert.equal(checkCustomHeader(name, 'x'), null, name)
  }
})

test('a name that is not a token is refused', () => {
  for (const name of ['', 'X A', 'X:A', 'X-A:', 'X\r\nBcc', 'Ünicode', 'X\0', 'X(a)', 'x'.repeat(77)]) {
    assert.match(checkCustomHeader(name, 'x')!, /header name/, name)
  }
})

test('a value that would break the header is refused', () => {
  for (const value of ['a\r\nBcc: x@y.example', 'a\nb', 'a\rb', 'a\0b', 'a\x1bb']) {
    assert.match(checkCustomHeader('X-A', value)!, /line break/)
  }
  assert.match(checkCustomHeader('X-A', 'y'.repeat(999))!, /998 bytes/)
  assert.match(checkCustomHeader('X-A', 'ü'.repeat(500))!, /998 bytes/)
})

test('a Message-ID must be one id in angle brackets', () => {
  for (const bad of [
    'x',
    'a@b',
    '<a>',
    '<a@b> <c@d>',
    '<a b@c>',
    '<a@b@c>',
    '<<a@b>>',
    '<ü@b>',
    `<${'a'.repeat(990)}@b>`,
  ]) {
    assert(!isMessageId(bad), bad)
    assert.match(checkCustomHeader('message-id', bad)!, /Message-ID/, bad)
  }
})

test('a content id is one word of ASCII, with or without its brackets', () => {
  for (const good of ['logo', '<logo@acme.example>', 'a.b-c']) assert.equal(checkContentId(good), null)
  for (const bad of ['', 'a b', 'a>b', 'a\r\nb', 'ü', 'a'.repeat(256)])
    assert.equal(typeof checkContentId(bad), 'string', bad)
})
