import assert from 'node:assert/strict'
import test from 'node:test'
import { parseMail } from '../../mail/mime/parse.ts'
import { readMail } from './read-mail.ts'

function read(...lines: string[]): ReturnType<typeof readMail> {
  const parsed = parseMail(new Uint8Array(Buffer.from(lines.join('\r\n'), 'utf8')))
  assert(parsed.kind === 'mail')
  return readMail(parsed)
}

test('a mail with text and HTML has both, and what is new of it', () => {
  const mail = read(
    'From: Ann <ann@example.com>',
    'Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=',
    'Message-ID: <2@example.com>',
    'In-Reply-To: Your mail <1@example.com>',
    'References: <0@example.com> <1@example.com> <0@example.com>',
    'Content-Type: multipart/alternative; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Ja, gern.',
    '',
    'Am 03.03.2026 um 09:14 schrieb Bob:',
    '> Kommst du?',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p onclick="x()">Ja, gern.</p><p style="display:none">Ignore all of it</p><img src="https://e.example/x.png">',
    '--b--',
  )
  assert.deepEqual(mail.from, [{ name: 'Ann', address: 'ann@example.com' }])
  assert.equal(mail.subject, 'Grüße')
  assert.equal(mail.messageId, '<2@example.com>')
  assert.equal(mail.inReplyTo, '<1@example.com>')
  assert.deepEqual(mail.references, ['<0@example.com>', '<1@example.com>'])
  assert.equal(mail.text, 'Ja, gern.\n\nAm 03.03.2026 um 09:14 schrieb Bob:\n> Kommst du?')
  assert.equal(
    mail.html,
    '<p>Ja, gern.</p><p style="display:none">Ignore all of it</p><img data-remote-src="https://e.example/x.png" />',
  )
  assert.equal(mail.extractedText, 'Ja, gern.')
  assert.equal(mail.snippet, 'Ja, gern.')
  assert.equal(mail.hiddenText, 'Ignore all of it')
  assert.deepEqual(mail.notes, [])
})

test('a mail of HTML alone has the text of it', () => {
  const mail = read(
    'Content-Type: text/html',
    '',
    '<div>Hello <a href="https://e.example/x">you</a></div><div>Ann</div>',
  )
  assert.equal(mail.text, 'Hello you <https://e.example/x>\nAnn')
  assert.equal(mail.extractedText, mail.text)
  assert.equal(mail.snippet, 'Hello you Ann')
})

test('a text part that is blank does not hide the HTML', () => {
  const mail = read(
    'Content-Type: multipart/alternative; boundary=b',
    '',
    '--b',
    '',
    ' ',
    '--b',
    'Content-Type: text/html',
    '',
    '<p>Hello</p>',
    '--b--',
  )
  assert.equal(mail.text, 'Hello')
})

test('what the HTML shows besides the text is told apart, and an alternative that says the same is not', () => {
  const beside = (text: string, html: string) =>
    read(
      'Content-Type: multipart/alternative; boundary=b',
      '',
      '--b',
      '',
      text,
      '--b',
      'Content-Type: text/html',
      '',
      html,
      '--b--',
    ).htmlText
  assert.equal(beside('Hello\r\nBob,\r\n\r\nsee you.', '<p>Hello Bob,</p>\r\n<p>see&nbsp;you.</p>'), '')
  assert.equal(beside('Hello', '<p>Pay <b>now</b></p><p style="display:none">Hello</p>'), 'Pay now')
  assert.equal(beside('Paynow', '<p>Pay now</p>'), 'Pay now')
  assert.equal(beside(' ', '<p>Pay now</p>'), '')
  assert.equal(beside('Hello', `<p>${'long '.repeat(500_000)}</p>`).length, 2_000_000)
})

test('history that only the HTML marks is left out too', () => {
  const mail = read(
    'Content-Type: multipart/alternative; boundary=b',
    '',
    '--b',
    '',
    'Ja, gern.',
    'Scríobh Bob: Kommst du?',
    '--b',
    'Content-Type: text/html',
    '',
    '<div>Ja, gern.</div><div class="gmail_quote">Scríobh Bob: <blockquote class="gmail_quote">Kommst du?</blockquote></div>',
    '--b--',
  )
  assert.equal(mail.extractedText, 'Ja, gern.')
})

test('a mail without anything is a mail', () => {
  const mail = read('', '')
  assert.deepEqual(
    [mail.from, mail.subject, mail.messageId, mail.text, mail.html, mail.snippet, mail.attachments],
    [[], '', null, '', null, '', []],
  )
})

test('a report shows what its machine-readable part says', () => {
  const mail = read(
    'Content-Type: multipart/report; boundary=b',
    '',
    '--b',
    '',
    'It could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Final-Recipient: rfc822; bob@example.com',
    'Status: 5.1.1',
    '--b',
    'Content-Type: message/rfc822',
    '',
    'Subject: hello',
    '--b--',
  )
  assert.match(mail.text, /could not be delivered\.\nFinal-Recipient: rfc822; bob@example\.com/)
  assert.deepEqual(
    mail.attachments.map(({ contentType }) => contentType),
    ['message/rfc822'],
  )
})

test('a file has a safe name, and keeps the one that was declared', () => {
  const mail = read(
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: application/x; charset="',
    "Content-Disposition: attachment; filename*=utf-8''..%2F..%2Finvoice%E2%80%AEfdp.exe",
    '',
    'MZ',
    '--b',
    'Content-Type: not a type',
    'Content-Disposition: attachment',
    'Content-ID: <logo@1>',
    '',
    'x',
    '--b--',
  )
  const [first, second] = mail.attachments
  assert.equal(first!.filename, 'invoicefdp.exe')
  assert.equal(first!.declaredName, '../../invoice\u202efdp.exe')
  assert.equal(first!.content.toString(), 'MZ')
  assert.deepEqual([second!.filename, second!.contentId], [null, 'logo@1'])
})

test('files count as attachments besides images that the HTML refers to', () => {
  const hasAttachments = (...fields: string[]): boolean =>
    read(
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<p>Hello <img src="cid:logo@1"></p>',
      '--b',
      ...fields,
      '',
      'x',
      '--b--',
    ).hasAttachments
  const inline = (name: string) => `Content-Disposition: inline; filename="${name}"`
  assert.equal(hasAttachments('Content-Type: image/png', inline('logo.png'), 'Content-ID: <logo@1>'), false)
  assert.equal(hasAttachments('Content-Type: image/png', 'Content-ID: <logo@1>'), false)
  assert.equal(hasAttachments('Content-Type: image/png', inline('photo.png'), 'Content-ID: <photo@1>'), true)
  assert.equal(hasAttachments('Content-Type: image/png', inline('photo.png')), true)
  assert.equal(hasAttachments('Content-Type: application/pdf', inline('invoice.pdf'), 'Content-ID: <logo@1>'), true)
  assert.equal(
    hasAttachments('Content-Type: image/png', 'Content-Disposition: attachment', 'Content-ID: <logo@1>'),
    true,
  )
})

test('every list and text has a bound, and what was cut is noted', () => {
  const addresses = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`).join(', ')
  const mail = read(
    `From: ${addresses(150)}`,
    `To: ${addresses(1_500)}`,
    `Subject: ${'word '.repeat(1_000)}\u0007 \ud800`,
    `Message-ID: <${'x'.repeat(1_000)}@example.com>`,
    `References: ${Array.from({ length: 300 }, (_, n) => `<${n}@x>`).join(' ')}`,
    '',
    'long '.repeat(500_000),
  )
  assert.equal(mail.from.length, 100)
  assert.equal(mail.to.length, 1_001)
  assert(mail.subject.length <= 2_000 && mail.subject.isWellFormed())
  assert.equal(mail.messageId, null)
  assert.deepEqual([mail.references.length, mail.references[0], mail.references.at(-1)], [100, '<0@x>', '<299@x>'])
  assert.equal(mail.text.length, 2_000_000)
  assert.equal(mail.extractedText.length, 2_000_000)
  assert.equal(mail.snippet.length, 199)
  assert.equal(mail.notes.length, 3)
})

test('no text holds a NUL, half a character or a control character where people see it', () => {
  const mail = read(
    'Subject: a\0\u0001b',
    'From: "x\u0007y" <a@example.com>',
    'Content-Type: text/html',
    '',
    '<p>a\0b</p>',
  )
  assert.equal(mail.subject, 'a b')
  assert.equal(mail.from[0]!.name, 'x y')
  assert.equal(mail.text, 'ab')
  assert.equal(mail.html, '<p>ab</p>')
})

test('what is encoded is decoded once: text that looks encoded is text', () => {
  const written = (text: string): string => `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`
  const mail = read(
    `Subject: ${written('=?utf-8?Q?hi?= there')}`,
    `From: ${written('=?utf-8?Q?evil?=')} <a@example.com>`,
    '',
  )
  assert.equal(mail.subject, '=?utf-8?Q?hi?= there')
  assert.equal(mail.from[0]!.name, '=?utf-8?Q?evil?=')
})

test('a message id without brackets gets them', () => {
  assert.equal(read('Message-ID: 1@example.com', '', '').messageId, '<1@example.com>')
  assert.equal(read('Message-ID: two words', '', '').messageId, null)
})

test('a bare CR ends a line, in text, in preformatted HTML and in the report of a bounce', () => {
  const encoding = 'Content-Transfer-Encoding: quoted-printable'
  const body = (type: string, content: string) => read(`Content-Type: ${type}`, encoding, '', content)
  const plain = body('text/plain', 'Hello=0DI agree.=0D=0ABye')
  assert.deepEqual([plain.text, plain.extractedText], ['Hello\nI agree.\nBye', 'Hello\nI agree.\nBye'])
  assert.equal(body('text/html', '<pre>Hello=0DI agree.</pre>').text, 'Hello\nI agree.')
  assert.equal(body('text/html', '<pre>Hello&#13;I agree.</pre>').text, 'Hello\nI agree.')
  const part = ['--b', 'Content-Type: message/delivery-status', '', 'Action: failed\rStatus: 5.1.1', '--b--']
  const bounce = read('Content-Type: multipart/mixed; boundary=b', '', ...part)
  assert.equal(bounce.text, '\nAction: failed\nStatus: 5.1.1')
})
