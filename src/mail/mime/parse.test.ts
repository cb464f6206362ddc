import assert from 'node:assert/strict'
import test from 'node:test'
import { parseMail } from './parse.ts'
import type { ParsedMail } from './parsed-mail.ts'

/** A message of these lines. Characters up to U+00FF are bytes. */
function read(...lines: string[]): ParsedMail {
  const mail = parseMail(new Uint8Array(Buffer.from(lines.join('\r\n'), 'latin1')))
  assert(mail.kind === 'mail', JSON.stringify(mail))
  return mail
}

const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
const names = (mail: ParsedMail): (string | null)[] => mail.attachments.map(({ filename }) => filename)

const CHARSETS: [label: string, bytes: string, text: string][] = [
  ['windows-1252', '\x93Gr\xfc\xdfe\x94 \x80', '“Grüße” €'],
  ['"ISO-8859-1"', '\x93Gr\xfc\xdfe\x94', '“Grüße”'],
  ['iso_8859-2', 'Za\xbf\xf3\xb3\xe6', 'Zażółć'],
  ['cp1250', 'Za\xbf\xf3\xb3\xe6', 'Zażółć'],
  ['win-1251', '\xcf\xf0\xe8\xe2\xe5\xf2', 'Привет'],
  ['windows-1253', '\xca\xe1\xeb\xe7\xec\xdd\xf1\xe1', 'Καλημέρα'],
  ['koi8-r', '\xf0\xd2\xc9\xd7\xc5\xd4', 'Привет'],
  ['gb2312', '\xc4\xe3\xba\xc3', '你好'],
  ['x-gbk', '\xc4\xe3\xba\xc3', '你好'],
  ['GB18030', '\xc4\xe3\xba\xc3', '你好'],
  ['big5', '\xa7A\xa6n', '你好'],
  ['iso-2022-jp', '\x1b$B$3$s$K$A$O\x1b(B', 'こんにちは'],
  ['Shift_JIS', '\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd', 'こんにちは'],
  ['cp932', '\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd', 'こんにちは'],
  ['euc-jp', '\xa4\xb3\xa4\xf3\xa4\xcb\xa4\xc1\xa4\xcf', 'こんにちは'],
  ['euc-kr', '\xbe\xc8\xb3\xe7', '안녕'],
  ['ks_c_5601-1987', '\xbe\xc8\xb3\xe7', '안녕'],
  // Letters that Windows added to the standards.
  ['ks_c_5601-1987', '\x8cc\xb9\xe6\xb0\xa2\xc7\xcf', '똠방각하'],
  ['cp949', '\xbe\xc8\xb3\xe7 \x94\xee', '안녕 뷁'],
  ['big5-hkscs', '\x9d\xf8\x9d\xf7', '啲咗'],
  ['cp850', 'Gr\x81\xe1e', 'Grüße'],
  ['ibm437', 'Gr\x81\xe1e', 'Grüße'],
  ['utf-32be', '\0\0\0H\0\0\0i', 'Hi'],
  ['iso-2022-kr', '\x1b$)C\n\x0e>H3g\x0f!', '안녕!'],
  ['hz-gb-2312', '~{Dc:C~}!', '你好!'],
  ['utf-7', 'Gr+APwA3w-e +- Tom', 'Grüße + Tom'],
  ['unicode-1-1-utf-7', 'Hi +ZeVnLIqe-', 'Hi 日本語'],
]

test('a body is read in the charset that it declares, under each of its names', () => {
  for (const [label, bytes, text] of CHARSETS) {
    const mail = read(`Content-Type: text/plain; charset=${label}`, 'Content-Transfer-Encoding: 8bit', '', bytes)
    assert.equal(mail.text, text, label)
  }
})

test('a charset that is wrong, unknown or missing is found from the bytes', () => {
  const russian = 'Добрый день, отправляю вам договор и счёт на оплату'
  const cases: [label: string, bytes: string, text: string][] = [
    ['us-ascii', bytesOf('Grüße aus Köln'), 'Grüße aus Köln'],
    ['iso-8859-1', bytesOf('Grüße aus Köln'), 'Grüße aus Köln'],
    ['utf-8', 'Gr\xfc\xdfe aus K\xf6ln', 'Grüße aus Köln'],
    ['x-unknown', 'Gr\xfc\xdfe aus K\xf6ln', 'Grüße aus Köln'],
    ['utf-8', 'Vielen Dank f\xfcr Ihre Bestellung', 'Vielen Dank für Ihre Bestellung'],
    ['us-ascii', 'J\xfcrgen M\xfcller, Z\xfcrich', 'Jürgen Müller, Zürich'],
    ['', 'ma\xf1ana', 'mañana'],
    ['', '\xc9lodie, \xc5se', 'Élodie, Åse'],
    ['', 'il va \xe0 Lyon', 'il va à Lyon'],
    ['', '\xcf\xf0\xe8\xe2\xe5\xf2, John!', 'Привет, John!'],
    ['', '\xcc\xe5\xe3\xe0\xd4\xee\xed', 'МегаФон'],
    ['', '\xd3\xde\xc5\xd4', 'счет'],
    ['', '\xcf\xd0\xc8\xc2\xc5\xd2 \xc2\xd1\xc5\xcc', 'ПРИВЕТ ВСЕМ'],
    ['unknown-8bit', bytesOf(russian), russian],
    ['x-unknown', koi8(russian), russian.replace('ё', 'ё')],
    ['us-ascii', '\x1b$B$3$s$K$A$O\x1b(B', 'こんにちは'],
    ['x-unknown', '\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\x81A', 'こんにちは、'],
    // What every object inherits is no charset.
    ['__proto__', bytesOf('Grüße aus Köln'), 'Grüße aus Köln'],
    ['constructor', 'Hello', 'Hello'],
  ]
  for (const [label, bytes, text] of cases) {
    assert.equal(read(`Content-Type: text/plain; charset=${label}`, '', bytes).text, text, `${label}: ${text}`)
  }
})

function koi8(text: string): string {
  const decoder = new TextDecoder('koi8-r')
  const table = new Map(Array.from({ length: 256 }, (_, byte) => [decoder.decode(Uint8Array.of(byte)), byte]))
  return Array.from(text, char => String.fromCharCode(table.get(char)!)).join('')
}

const SUBJECTS: [written: string, read: string][] = [
  ['=?utf-8?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
  ['=?UTF-8?b?R3LDvMOfZQ==?=', 'Grüße'],
  // Split inside a character, with and without a blank between.
  ['=?utf-8?Q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?=', 'Grüße'],
  ['=?utf-8?B?R3LD?==?utf-8?B?vMOfZQ==?=', 'Grüße'],
  ['=?utf-8*de?Q?Gr=C3=BC=C3=9Fe?= und mehr', 'Grüße und mehr'],
  // Blanks and question marks inside, which are not allowed.
  ['=?utf-8?Q?Was nun?_?= ja', 'Was nun?  ja'],
  // The end is missing.
  ['=?utf-8?B?R3LDvMOfZQ==', 'Grüße'],
  ['=?utf-8?Q?Gr=C3=BC=C3=9Fe', 'Grüße'],
  // A padding in the middle.
  ['=?utf-8?B?R3LDvA==w59l?=', 'Grüße'],
  ['=?x-unknown?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
  ['=?iso-8859-1?Q?Gr=FC=DFe?=', 'Grüße'],
  ['=?iso-2022-jp?B?GyRCJDMkcxsoQg==?= =?iso-2022-jp?B?GyRCJEskQSRPGyhC?=', 'こんにちは'],
  ['price =?low? 5', 'price =?low? 5'],
  ['=?utf-8?X?abc?=', '=?utf-8?X?abc?='],
  [bytesOf('Grüße'), 'Grüße'],
  ['Gr\xfc\xdfe', 'Grüße'],
  ['folded\r\n\t over lines', 'folded over lines'],
]

test('a subject is read however its words are encoded', () => {
  for (const [written, text] of SUBJECTS) {
    assert.equal(read(`Subject: ${written}`, '', 'x').subject, text.replace('  ', ' '), written)
  }
})

test('every address of From is read, and what is none is left out', () => {
  const from = (value: string) => read(`From: ${value}`, '', 'x').from.map(({ address }) => address)
  assert.deepEqual(from('Ann <ann@example.com>, bob@example.com'), ['ann@example.com', 'bob@example.com'])
  assert.deepEqual(from('Team: ann@example.com, Bob <bob@example.com>;'), ['ann@example.com', 'bob@example.com'])
  assert.deepEqual(from('<@relay.example,@other.example:ann@example.com>'), ['ann@example.com'])
  assert.deepEqual(from('Undisclosed recipients:;'), [])
  assert.deepEqual(from('moderator'), [])
  assert.deepEqual(from('MAILER-DAEMON <>'), [])
  assert.deepEqual(read('Subject: x', '', 'x').from, [])
  const [mailbox] = read('From: =?utf-8?Q?J=C3=B6rg?= "the" =?utf-8?Q?M=C3=BC?= <j@example.com>', '', 'x').from
  assert.equal(mailbox!.name, 'Jörg the Mü')
})

test('of a field that comes twice the first counts, and lists of authors and recipients go on', () => {
  const mail = read(
    'Subject: one',
    'Subject: two',
    'From: a@example.com',
    'From: b@example.com',
    'To: c@example.com',
    'To: d@example.com',
    'Message-ID: <1@x>',
    'Message-ID: <2@x>',
    '',
    'x',
  )
  assert.equal(mail.subject, 'one')
  assert.deepEqual(
    [...mail.from, ...mail.to].map(({ address }) => address),
    ['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'],
  )
  assert.equal(mail.messageId, '<1@x>')
})

test('a name of a file is read in every form', () => {
  const name = (...lines: string[]) =>
    names(read('Content-Type: multipart/mixed; boundary=b', '', '--b', ...lines, '', 'x', '--b--'))[0]
  assert.equal(name('Content-Disposition: attachment; filename="a b.txt"'), 'a b.txt')
  assert.equal(name('Content-Disposition: attachment; filename=a b.txt'), 'a b.txt')
  assert.equal(name("Content-Disposition: attachment; filename*=utf-8'de'%C3%A4.txt"), 'ä.txt')
  assert.equal(
    name(
      "Content-Disposition: attachment; filename*1*=%BC.txt;\r\n filename*0*=utf-8''Gr%C3",
      'Content-Type: application/pdf',
    ),
    'Grü.txt',
  )
  assert.equal(
    name('Content-Disposition: attachment; filename*0="Annual "; filename*1="report.pdf"'),
    'Annual report.pdf',
  )
  assert.equal(name('Content-Type: application/pdf; name="=?utf-8?Q?=C3=A4.pdf?="'), 'ä.pdf')
  assert.equal(name(`Content-Disposition: attachment; filename="${bytesOf('ä.pdf')}"`), 'ä.pdf')
  assert.equal(name('Content-Disposition: attachment; filename="a\\"b.pdf'), 'a"b.pdf')
  assert.equal(name('Content-Disposition: attachment; filename="one.pdf"; filename="two.exe"'), 'one.pdf')
  assert.equal(name('Content-Disposition: attachment; (a "comment") filename=a.pdf (another'), 'a.pdf (another')
})

test('alternative inside related inside mixed is one text, one HTML, an image and a file', () => {
  const mail = read(
    'Content-Type: multipart/mixed; boundary=m',
    '',
    'preamble',
    '--m',
    'Content-Type: multipart/related; boundary=r',

    '',
    '--r',
    'Content-Type: multipart/alternative; boundary="a"',
    '',
    '--a',
    'Content-Type: text/plain',
    '',
    'plain',
    '--a',
    'Content-Type: text/html',
    '',
    '<b>html</b><img src="cid:logo">',
    '--a--',
    '--r',

    'Content-Type: image/png; name=logo.png',
    'Content-ID: <logo>',
    'Content-Transfer-Encoding: base64',
    '',
    'AAEC',

    '--r--',
    '--m',
    'Content-Type: application/pdf',
    'Content-Disposition: attachment; filename=a.pdf',
    '',
    '%PDF',
    '--m--',
    'epilogue',
  )
  assert.equal(mail.text, 'plain')
  assert.equal(mail.html, '<b>html</b><img src="cid:logo">')
  assert.deepEqual(
    mail.attachments.map(({ filename, contentId, inline, content }) => ({
      filename,
      contentId,
      inline,
      content: [...content],
    })),
    [
      { filename: 'logo.png', contentId: 'logo', inline: true, content: [0, 1, 2] },
      { filename: 'a.pdf', contentId: null, inline: false, content: [...Buffer.from('%PDF')] },
    ],
  )
})

test('the words of broken multiparts are not lost', () => {
  const text = (...lines: string[]) => read(...lines).text
  const mixed = 'Content-Type: multipart/mixed; boundary=b'
  assert.equal(text('Content-Type: multipart/mixed', '', 'no boundary'), 'no boundary')
  assert.equal(text(mixed, '', 'it never comes'), 'it never comes')
  assert.equal(text(mixed, '', '--b', '', 'never closed'), 'never closed')
  assert.equal(text(mixed, '', '--b', '', 'closed with more', '--b--> and more', 'ignored'), 'closed with more')
  assert.equal(
    text(
      mixed,
      '',
      '--b',
      'Content-Type: multipart/alternative; boundary=c',
      '',
      '--c',
      '',
      'inner',
      '--b',
      '',
      'outer',
    ),
    'inner\nouter',
  )
  assert.equal(text(mixed, '', '--b', '--b', '', 'twice', '--b--'), 'twice')
  assert.equal(text('Content-Type: text', '', 'no type'), 'no type')
  assert.equal(text('no colon here', 'Content-Type: text/plain', '', 'body'), 'body')
})

test('text in parts of both kinds is one text and one HTML', () => {
  const mail = read(
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/html',
    '',
    '<p>first</p>',
    '--b',
    'Content-Type: text/plain',
    '',
    'a < b',
    '--b--',
  )
  assert.equal(mail.text, 'first\na < b')
  assert.match(mail.html!, /<p>first<\/p>\s*<div>a &#60; b<\/div>/)
})

test('files stay files: attached messages, calendars, winmail.dat, texts with a name', () => {
  const part = (type: string) => ['--b', `Content-Type: ${type}`, '', 'x']
  const mail = read(
    'Content-Type: multipart/mixed; boundary=b',
    '',
    ...part('text/plain'),
    ...part('message/rfc822'),
    ...part('text/calendar; method=REQUEST'),
    ...part('application/ms-tnef; name=winmail.dat'),
    ...part('text/plain; name=notes.txt'),
    '--b--',
  )
  assert.equal(mail.text, 'x')
  assert.deepEqual(
    mail.attachments.map(({ contentType }) => contentType),
    ['message/rfc822', 'text/calendar', 'application/ms-tnef', 'text/plain'],
  )
})

test('bytes of a file are those that were sent, also without an encoding', () => {
  const file = (encoding: string, body: string) => {
    const mail = read(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: a/b',
      `Content-Transfer-Encoding: ${encoding}`,
      '',
      body,
      '--b--',
    )
    return mail.attachments[0]!.content.toString('latin1')
  }
  assert.equal(file('binary', 'one\r\ntwo\r\n'), 'one\r\ntwo\r\n')
  assert.equal(file('base64', 'b25l*%$!\r\n dHdv'), 'onetwo')
  assert.equal(file('BASE64 (as ever)', 'b25l=\r\ndHdv'), 'onetwo')
  assert.equal(file('base64', 'b25ldA'), 'onet')
  assert.equal(file('base64', '\xff\xfe\x00'), '')
  assert.equal(file('quoted-printable', 'a=20b=\r\nc=  \r\nd=ZZ='), 'a bcd=ZZ')
  assert.equal(file('x-uuencode', 'begin 644 a.txt\r\n#0V%T\r\n`\r\nend'), 'Cat')
  assert.equal(file('x-invented', 'as=20is'), 'as=20is')
})

test('flowed text is unfolded by quote depth, and the signature stays a line of its own', () => {
  const flowed = (params: string, ...lines: string[]) =>
    read(`Content-Type: text/plain; format=flowed${params}`, '', ...lines).text
  assert.equal(
    flowed('', 'one ', 'two', ' >stuffed', '> quoted ', '> more', 'end'),
    'one two\n>stuffed\n> quoted more\nend',
  )
  assert.equal(flowed('; delsp=yes', 'Donau ', 'dampf', '-- ', 'Ann'), 'Donaudampf\n-- \nAnn')
  assert.equal(flowed('', 'cut ', '>quote'), 'cut \n> quote')
})

test('base64 ends at its padding, unless more base64 follows', () => {
  const decoded = (...lines: string[]) => read('Content-Transfer-Encoding: base64', '', ...lines).text
  assert.equal(decoded('aGVsbG8=', '', '-- ', 'Mailing list footer here'), 'hello')
  assert.equal(decoded('aGVsbG8=', 'Sent to you by a list'), 'hello')
  assert.equal(decoded('aGVs', 'bG8=', 'IHdvcmxk'), 'hello world')
  assert.equal(decoded('aGVsbG8=IHdvcmxk', ''), 'hello world')
  assert.equal(decoded('aGVsbG8=', 'QUI=QUI='), 'helloABAB')
})

test('dates are read, and what is none is none', () => {
  const date = (value: string) => read(`Date: ${value}`, '', '').date?.toISOString() ?? null
  for (const [value, read] of [
    ['Mon, 16 Nov 2026 10:00:00 +0200 (EET)', '2026-11-16T08:00:00.000Z'],
    ['16 Nov 26 5:00 EST', '2026-11-16T10:00:00.000Z'],
    // A zone that the standard does not name says nothing.
    ['Mon, 16 Nov 2026 10:00:00 CET', '2026-11-16T10:00:00.000Z'],
    ['Mon, 16 Nov 2026 10:00:00', '2026-11-16T10:00:00.000Z'],
    ['Mon, 16 Nov 2026 10:00:00 GMT+0200', '2026-11-16T08:00:00.000Z'],
    ['Mon Nov 16 10:00:00 2026', '2026-11-16T10:00:00.000Z'],
    ['2026-11-16T10:00:00.5-08:00', '2026-11-16T18:00:00.000Z'],
    ['Mon Nov 16 10:00:00 EST 2026', '2026-11-16T15:00:00.000Z'],
    ['Mon Nov 16 2026 10:00:00 GMT+0200 (Central (European) Time)', '2026-11-16T08:00:00.000Z'],
    ['Mon, Nov 16 2026 9:5:07 (a (nested) comment) +2', '2026-11-16T07:05:07.000Z'],
    ['Mon, 16 Nov 2026 01:00:00 PM +0500', '2026-11-16T08:00:00.000Z'],
    ['Mon, 16 Nov 2026 12:30:00 AM +0000', '2026-11-16T00:30:00.000Z'],
    ['Sat, 31 Dec 2016 23:59:60 +0000', '2016-12-31T23:59:59.000Z'],
    ['yesterday', null],
    ['hello 12', null],
    ['Wed, 31 Feb 2026 10:00:00 +0000', null],
    ['Mon, 16 Nov 2026 24:00:00 +0000', null],
  ] as const) {
    assert.equal(date(value), read, value)
  }
})

test('NUL, bare CR and bare LF are read as far as they go', () => {
  assert.equal(read('Subject: a\0b\nFrom: a@example.com\n\nbody\n').from[0]!.address, 'a@example.com')
  assert.equal(read('Subject: x\r\rnot a header', '', 'a\rb\0c').text, 'a\nb\0c')
})
