// No line over 998 octets leaves, and what is written anew for it says the same as before.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { hasLongLine } from './body-encoding.ts'
import { readHeader, valueOf } from './headers.ts'
import { withoutLongLines } from './long-lines.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

const crlf = (...lines: string[]): string => lines.join('\r\n')
const short = (text: string): Buffer | null => withoutLongLines(Buffer.from(text, 'latin1'))

function shortened(text: string): Buffer {
  const written = short(text)
  assert.ok(written, 'it could be written')
  assert.equal(hasLongLine(written), false)
  return written
}

const LONG = `${'word '.repeat(400)}end`
const HEAD = 'From: a@acme.example'

test('what fits stays the same buffer; 998 is allowed and 999 is not', () => {
  const fits = Buffer.from(crlf(HEAD, '', 'x'.repeat(998), ''))
  assert.equal(withoutLongLines(fits), fits)
  assert.notEqual(withoutLongLines(Buffer.from(crlf(HEAD, '', 'x'.repeat(999), ''))), null)
  shortened(crlf(HEAD, '', 'x'.repeat(999), ''))
})

test('each part of a multipart is encoded by itself, the others are left as they were', async () => {
  const binary = Buffer.from(
    Array.from({ length: 3_000 }, (_, n) => (n * 7) % 250).filter(byte => ![0, 10, 13].includes(byte)),
  )
  const untouched = crlf('Content-Type: text/plain', '', 'Short text.')
  const written = shortened(
    crlf(
      HEAD,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary="outer part"',
      '',
      LONG,
      '--outer part',
      untouched,
      '--outer part  ',
      'Content-Type: multipart/alternative; boundary=inner',
      '',
      '--inner',
      'Content-Type: text/html; charset=utf-8',
      '',
      `<p>${LONG}</p>`,
      '--inner--',
      '--outer part',
      'Content-Type: application/octet-stream; name=a.bin',
      'Content-Disposition: attachment; filename=a.bin',
      'Content-Transfer-Encoding: binary',
      '',
      binary.toString('latin1'),
      '--outer part',
      'Content-Type: image/png; name=b.png',
      'Content-Disposition: attachment; filename=b.png',
      'Content-Transfer-Encoding: base64',
      '',
      binary.toString('base64'),
      '--outer part',
      'Content-Type: message/rfc822',
      '',
      HEAD,
      `References: ${'<id@acme.example>'.repeat(100)}`,
      '',
      LONG,
      '--outer part--',
      LONG,
    ),
  )
  const text = written.toString('latin1')
  assert.ok(text.includes(untouched))
  const mail = await PostalMime.parse(written, { forceRfc822Attachments: true })
  assert.ok(mail.text?.startsWith('Short text.\n'))
  assert.ok(mail.html?.includes(`<p>${LONG}</p>`))
  const [bin, png, nested] = mail.attachments
  assert.deepEqual(Buffer.from(bin!.content as ArrayBuffer), binary)
  assert.deepEqual(Buffer.from(png!.content as ArrayBuffer), binary)
  const inner = await PostalMime.parse(nested!.content as ArrayBuffer)
  assert.equal(inner.text?.trim(), LONG)
  assert.equal(inner.references?.split(/\s+/).length, 100)
})

test('header fields are folded at their blanks and come back the same', () => {
  const list = Array.from({ length: 100 }, (_, n) => `"Doe, ${n}" <u${n}@example.com>`)
  const written = shortened(
    crlf(HEAD, `To: ${list.join(',')}`, `Subject: ${LONG}`, `X-Short: ${'y '.repeat(20)}`, '', ''),
  )
  const fields = readHeader(written)
  assert.equal(valueOf(fields, 'subject'), LONG)
  assert.equal(valueOf(fields, 'to'), list.join(', '))
  assert.ok(written.includes('<u1@example.com>,\r\n "Doe, 2"') || written.includes(', "Doe, 2"'))
})

test('text that is quoted-printable already gets soft breaks, never inside an escape', async () => {
  const body = `${'=C3=BC'.repeat(300)}${'plain '.repeat(100)}=3D=`
  const written = shortened(
    crlf(
      HEAD,
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      body,
      'next',
      '',
    ),
  )
  const mail = await PostalMime.parse(written)
  assert.equal(mail.text?.trim(), `${'ü'.repeat(300)}${'plain '.repeat(100)}=next`)
})

test('what would break by it is not written: signed parts, fields without a blank, forms that nobody knows', () => {
  const part = (type: string, ...lines: string[]) => crlf(HEAD, `Content-Type: ${type}`, '', ...lines, '')
  const refused = [
    part('multipart/signed; boundary=b', '--b', 'Content-Type: text/plain', '', LONG, '--b', '', 'sig', '--b--'),
    part(
      'multipart/mixed; boundary=b',
      '--b',
      'Content-Type: multipart/signed; boundary=c',
      '',
      '--c',
      '',
      LONG,
      '--c--',
      '--b--',
    ),
    part('multipart/mixed', '--b', '', LONG, '--b--'),
    part('multipart/mixed; boundary=b; boundary=c', '--b', '', LONG, '--b--'),
    part('multipart/mixed; boundary=b', 'no delimiter', LONG),
    part('message/delivery-status', LONG),
    part('nonsense', LONG),
    crlf(HEAD, 'Content-Transfer-Encoding: x-uuencode', '', LONG, ''),
    crlf(HEAD, 'Content-Type: text/plain', 'Content-Type: text/html', '', LONG, ''),
    crlf(HEAD, `X-Token: ${'x'.repeat(1_000)}`, '', ''),
    crlf(HEAD, `List-Unsubscribe: <https://acme.example/${'x'.repeat(1_000)}>`, '', ''),
  ]
  for (const text of refused) assert.equal(short(text), null, text.slice(0, 200))
})

const line = fc.oneof(
  fc.constantFrom('', ' folded', '--b', '--b--', '--c', '--c--', 'Content-Type: multipart/mixed; boundary=b', 'word'),
  fc.constantFrom('Content-Type: multipart/digest; boundary=c', 'Content-Type: message/rfc822', 'Subject: x'),
  fc.constantFrom(
    'Content-Transfer-Encoding: base64',
    'Content-Transfer-Encoding: quoted-printable',
    'Content-Type: text/html',
  ),
  fc
    .tuple(
      fc.constantFrom('a', 'b ', '=', '=3D', '\xe9', '\t', 'To: a@b.example,'),
      fc.integer({ min: 300, max: 1_100 }),
    )
    .map(([unit, count]) => unit.repeat(count)),
)

test('whatever the message, what comes back has no long line, and coming back again it stays the same', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 15 }), lines => {
      const written = short(crlf(HEAD, ...lines, ''))
      if (written === null) return
      assert.equal(hasLongLine(written), false)
      assert.equal(withoutLongLines(written), written)
    }),
    { numRuns: 3_000 },
  )
})

test('a deep or many-parted message is decided in a moment', () => {
  const cpuMs = cpuStopwatch()
  const nested = Array.from({ length: 500 }, (_, n) =>
    crlf(`Content-Type: multipart/mixed; boundary=b${n}`, '', `--b${n}`, ''),
  )
  assert.equal(short(crlf(HEAD, nested.join(''), LONG)), null)
  assert.equal(
    short(crlf(HEAD, 'Content-Type: multipart/mixed; boundary=b', '', crlf('--b', LONG, '').repeat(9_000))),
    null,
  )
  shortened(crlf(HEAD, 'Content-Type: application/x', '', 'x'.repeat(20_000_000), ''))
  assert.ok(cpuMs() < 3_000)
})
