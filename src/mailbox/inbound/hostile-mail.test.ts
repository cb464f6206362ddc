import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseMail } from '../../mail/mime/parse.ts'
import { readMail } from './read-mail.ts'

/** Of these, in any order and number, every shape of broken mail can be made. */
const PIECES = [
  'Content-Type: multipart/mixed; boundary=b\r\n',
  'Content-Type: multipart/alternative; boundary="c d"\r\n',
  'Content-Type: text/html; charset=iso-2022-jp\r\n',
  'Content-Type: text/plain; format=flowed; delsp=yes\r\n',
  'Content-Type: message/rfc822\r\n',
  "Content-Disposition: attachment; filename*0*=utf-8''%C3; filename*1*=%A4\r\n",
  'Content-Transfer-Encoding: base64\r\n',
  'Content-Transfer-Encoding: quoted-printable\r\n',
  'Content-Transfer-Encoding: x-uuencode\r\n',
  'Subject: =?utf-8?B?w?= =?utf-8?Q?=\r\n',
  'From: "a <b@c>, (d\r\n',
  'References: <a@b> <\r\n',
  'Date: never\r\n',
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' folded\r\n',
  '--b\r\n',
  '--b--\r\n',
  '--c d\r\n',
  '--c d--\r\n',
  '<div style="display:none"><p><blockquote type=cite>',
  '</td></div><a href="javascript:x">',
  '<style>/*{}p{',
  '<!-- <script>',
  '=C3=\r\n=?',
  'begin 644 x\r\n#0V%T\r\n',
  'On Tue, Mar 3, 2026 at 9:14 AM Ann <ann@example.com> wrote:\r\n> hi\r\n-- \r\n',
  '\xc3\xa4\xff\x1b$B',
]

test('mail of any shape is read, and what is read of it can be stored', () => {
  const soup = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 8 })), { maxLength: 40 })
  fc.assert(
    fc.property(soup, pieces => {
      const parsed = parseMail(new Uint8Array(Buffer.from(pieces.join(''), 'latin1')))
      assert(parsed.kind === 'mail', JSON.stringify(parsed))
      const mail = readMail(parsed)
      const { attachments, ...rest } = mail
      const text = JSON.stringify([rest, attachments.map(about => ({ ...about, content: null }))])
      // Escapes of our making, and not a backslash that the mail itself has.
      assert(!/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(text) && text.isWellFormed(), text)
      assert(!/<script|javascript:|onerror=/i.test(mail.html ?? ''), mail.html ?? '')
      assert(mail.snippet.length <= 200)
    }),
    { numRuns: 3_000 },
  )
})
