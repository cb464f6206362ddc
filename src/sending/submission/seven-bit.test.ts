// What not every receiver could take is written so that all can, and stays what it was.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { valueOf, valuesOf } from '../../mail/mime/headers.ts'
import { FROM, prepare } from './prepare-mail.fixture.ts'
import { message } from './submission.fixture.ts'

test('nor does it come back by way of being written anew', () => {
  const header = ['Bcc: Jörg <canary@example.com>', 'X-Service-Tags: grün', 'Return-Path: <ü@x.example>']
  const { submission, fields } = prepare(message(FROM, ...header, 'X-Note: ü', '', ''))
  assert.deepEqual(
    fields.map(({ lowerName }) => lowerName),
    ['received', 'date', 'message-id', 'from', 'x-note'],
  )
  assert.deepEqual(submission.tags, ['grün'])
})

test('a text in 8 bits is sent as quoted-printable, in its own charset', () => {
  const latin = Buffer.from(
    message(FROM, 'Content-Type: text/plain; charset=iso-8859-1', '', 'Gr\xfc\xdfe = \t'),
    'latin1',
  )
  const { submission, text, fields } = prepare(latin)
  assert.ok(text.endsWith('\r\n\r\nGr=FC=DFe =3D =09\r\n'))
  assert.equal(valueOf(fields, 'content-transfer-encoding'), 'quoted-printable')
  assert.equal(valueOf(fields, 'mime-version'), '1.0')
  assert.deepEqual(valuesOf(fields, 'content-type'), ['text/plain; charset=iso-8859-1'])
  assert.equal(submission.needsSmtputf8, false)

  const bare = prepare(message(FROM, 'Content-Transfer-Encoding: 8bit', '', 'Grüße'))
  assert.equal(valueOf(bare.fields, 'content-type'), 'text/plain; charset=utf-8')
  assert.deepEqual(valuesOf(bare.fields, 'content-transfer-encoding'), ['quoted-printable'])
  assert.ok(bare.text.endsWith('Gr=C3=BC=C3=9Fe\r\n'))

  const unknown = prepare(Buffer.from(message(FROM, '', 'Gr\xfc\xdfe'), 'latin1'))
  assert.equal(valueOf(unknown.fields, 'content-type'), 'text/plain; charset=unknown-8bit')
})

test('lines too long for SMTP are broken softly, and come back whole', () => {
  const long = `${'word '.repeat(300)}=end`
  const { text } = prepare(message(FROM, 'Content-Type: text/html', '', long))
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)
  assert.ok(body.split('\r\n').every(line => line.length <= 76))
  const decoded = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  assert.equal(decoded, `${long}\r\n`)
})

test('quoted-printable comes back byte for byte, whatever the bytes', () => {
  const byte = fc.integer({ min: 1, max: 255 }).filter(each => each !== 13 && each !== 10)
  const line = fc.array(byte, { maxLength: 200 }).map(bytes => Buffer.from(bytes).toString('latin1'))
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), lines => {
      const body = message(...lines, '\xff')
      const { text } = prepare(Buffer.from(message(FROM, 'Content-Type: text/plain', '') + body, 'latin1'))
      const encoded = text.slice(text.indexOf('\r\n\r\n') + 4)
      assert.match(encoded, /^(?:[\t -~]{0,75}(?:=|[!-~]|)\r\n)*$/)
      const decoded = encoded
        .replaceAll('=\r\n', '')
        .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
      assert.equal(decoded, body)
    }),
  )
})

test('what has parts, or is encoded already, is left as it is', () => {
  for (const header of [
    ['Content-Type: multipart/mixed; boundary=b'],
    ['Content-Type: application/octet-stream'],
    ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'],
  ]) {
    const source = message(FROM, ...header, '', 'Grüße')
    assert.ok(prepare(source).text.endsWith(source))
  }
})

test('header fields in raw UTF-8 become encoded-words, unless only SMTPUTF8 can carry them', () => {
  const raw = message(
    'From: Jörg Müller <j@acme.example>',
    'To: "Größe, X" <you@example.com>',
    'Subject: Grüße',
    '',
    '',
  )
  const { submission, fields } = prepare(raw)
  assert.ok(fields.every(({ value }) => /^[\t -~]*$/.test(value)))
  assert.equal(submission.needsSmtputf8, false)
  assert.equal(submission.subject, 'Grüße')
  assert.match(valueOf(fields, 'subject')!, /^=\?UTF-8\?/)
  assert.match(valueOf(fields, 'to')!, /^=\?UTF-8\?.*\?= <you@example\.com>$/)

  // From is written anew in any case, in the one form that every reader knows.
  const kept = prepare(raw, { smtputf8: true }).fields
  assert.equal(valueOf(kept, 'subject'), 'Grüße')
  assert.equal(valueOf(kept, 'to'), '"Größe, X" <you@example.com>')
  assert.match(valueOf(kept, 'from')!, /^=\?UTF-8\?.*\?= <j@acme\.example>$/)
  assert.equal(prepare(raw, { smtputf8: true }).submission.needsSmtputf8, true)
  assert.equal(prepare(message('From: jörg@acme.example', '', '')).submission.needsSmtputf8, true)
  // Whether a recipient needs it is seen for each of them.
  assert.equal(prepare(message(FROM, '', ''), { to: ['jörg@example.com'] }).submission.needsSmtputf8, false)
  assert.equal(prepare(message(FROM, '', '')).submission.needsSmtputf8, false)
})
