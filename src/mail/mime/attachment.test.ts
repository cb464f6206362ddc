import assert from 'node:assert/strict'
import test from 'node:test'
import { parseMail } from './parse.ts'
import { type Attachment, attachmentPart, safeContentType } from './attachment.ts'

const headerOf = (over: Partial<Attachment>): string =>
  attachmentPart({
    filename: null,
    contentType: null,
    contentId: null,
    inline: false,
    content: Buffer.of(1),
    ...over,
  })[0] as string

test('a content type keeps its safe parameters and loses the rest', () => {
  assert.equal(safeContentType('image/PNG'), 'image/png')
  assert.equal(
    safeContentType('text/calendar; method=REQUEST;charset="utf-8"'),
    'text/calendar; method="REQUEST"; charset="utf-8"',
  )
  assert.equal(safeContentType('text/plain; name="a b"; x=(y); boundary=z; filename=q'), 'text/plain')
})

test('a type with more parameters than a line takes goes without them', () => {
  assert.equal(safeContentType(`image/png; a=${'x'.repeat(99)}; b=${'y'.repeat(99)}; c=${'z'.repeat(99)}`), 'image/png')
})

test('what is no content type, or claims a structure, is a plain file', () => {
  for (const bad of [
    '',
    'png',
    'a/b/c',
    'a b/c',
    'text/ht\r\nml',
    'multipart/mixed; boundary=x',
    `a/${'b'.repeat(300)}`,
  ]) {
    assert.equal(safeContentType(bad), 'application/octet-stream', bad)
  }
})

test('a file name outside ASCII has one form, for some readers take the first of two', () => {
  const header = headerOf({ filename: "Übersicht (März) 'a'.pdf" })
  assert.equal(header.split('filename').length, 2)
  assert(header.includes("filename*=UTF-8''%C3%9Cbersicht%20%28M%C3%A4rz%29%20%27a%27.pdf"))
})

test('a long file name is cut into numbered sections', () => {
  const header = headerOf({ filename: `${'ä'.repeat(100)}.pdf` })
  assert.match(header, /attachment;\r\n filename\*0\*=UTF-8''(%C3%A4)+;\r\n filename\*1\*=(%C3%A4)+;/)
  assert(header.split('\r\n').every(line => line.length <= 78))
})

test('a file name that is cut keeps its end, and one that looks encoded is shown as it is', () => {
  const nameIn = (filename: string) =>
    parseMail(
      Buffer.from(
        `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${headerOf({ filename })}\r\nAA==\r\n--b--\r\n`,
      ),
    )
  const names = (filename: string) => {
    const mail = nameIn(filename)
    return mail.kind === 'mail' ? mail.attachments.map(each => each.filename) : mail
  }
  for (const length of [300, 3_000]) assert.match(headerOf({ filename: `${'x'.repeat(length)}.txt` }), /x\.txt\r\n/)
  assert.deepEqual(names('=?utf-8?q?x?=.txt'), ['=?utf-8?q?x?=.txt'])
})

test('a message in 7bit is attached as a message, any other as a file', () => {
  const attached = (content: string) => headerOf({ contentType: 'message/rfc822', content: Buffer.from(content) })
  const large = `Subject: x\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(3_000)}`
  for (const clean of ['', 'Subject: x\r\n\r\nhi\r\n', large, `${large}hi`]) {
    assert.match(attached(clean), /message\/rfc822\r\nContent-Transfer-Encoding: 7bit/)
  }
  const small = ['Subject: x\n\nhi', 'Subject: ü\r\n\r\n', `Subject: ${'x'.repeat(999)}\r\n\r\n`]
  const endings = ['a\nb', 'ü', 'x'.repeat(999), 'x'.repeat(2_000_000)]
  for (const unclean of [...small, ...endings.map(end => large + end)]) {
    assert.match(attached(unclean), /application\/octet-stream\r\nContent-Transfer-Encoding: base64/)
  }
})

test('a content id that cannot be written is left out', () => {
  assert.match(headerOf({ contentId: 'logo' }), /^Content-ID: <logo>\r$/m)
  assert.doesNotMatch(headerOf({ contentId: 'lo go' }), /content-id/i)
})
