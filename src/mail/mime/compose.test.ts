import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import * as fc from 'fast-check'
import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime, { type Email } from 'postal-mime'
import { type Address, parseAddress } from '../address/address.ts'
import { findBareLineBreak } from './headers.ts'
import type { Attachment } from './attachment.ts'
import { composeMessage, type OutgoingMessage } from './compose.ts'
import { parseMail } from './parse.ts'
import { bestOfThree, cpuStopwatch } from '../../../test/support/main-thread.ts'

const address = (text: string): Address => parseAddress(text)!

const aMessage = (over: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  from: address('Acme <hello@acme.example>'),
  to: [address('Jane Doe <jane@example.com>')],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  text: 'Hi Jane',
  html: null,
  headers: [],
  attachments: [],
  messageId: '<0190-a1@acme.example>',
  date: new Date('2026-11-15T02:51:07Z'),
  ...over,
})

const aFile = (over: Partial<Attachment> = {}): Attachment => ({
  filename: 'notes.txt',
  contentType: 'text/plain',
  contentId: null,
  inline: false,
  content: Buffer.from('some notes'),
  ...over,
})

const compose = composeMessage
const textOf = (over: Partial<OutgoingMessage>): string => compose(aMessage(over)).toString('latin1')
const readBack = (over: Partial<OutgoingMessage>): Promise<Email> => PostalMime.parse(compose(aMessage(over)))

/** Line breaks as postal-mime gives them, without those at the end: a message always ends in one. */
const unixText = (text: string | undefined): string => (text ?? '').replace(/\r\n?/g, '\n').replace(/\n+$/, '')

function assertFitForTheWire(source: Buffer): void {
  assert.equal(findBareLineBreak(source), -1)
  for (const line of source.toString('latin1').split('\r\n')) {
    assert(line.length <= 998, `a line of ${line.length} bytes`)
    assert.match(line, /^[^\x80-\xff]*$/)
  }
}

test('a plain message is short, readable and in ASCII', () => {
  assert.equal(
    textOf({ headers: [['X-Campaign', 'spring']] }),
    [
      'From: Acme <hello@acme.example>',
      'To: Jane Doe <jane@example.com>',
      'Subject: Hello',
      'Date: Sun, 15 Nov 2026 02:51:07 +0000',
      'Message-ID: <0190-a1@acme.example>',
      'X-Campaign: spring',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Hi Jane',
      '',
    ].join('\r\n'),
  )
})

test('cc and reply-to are written, bcc has no way in', async () => {
  const mail = await readBack({ cc: [address('c@example.com')], replyTo: [address('R <r@example.com>')] })
  assert.deepEqual(mail.cc, [{ name: '', address: 'c@example.com' }])
  assert.deepEqual(mail.replyTo, [{ name: 'R', address: 'r@example.com' }])
  assert.equal(mail.bcc, undefined)
  assert(!/^bcc/im.test(textOf({ ...({ bcc: [address('b@example.com')] } as object) })))
})

test('a message without recipients in its header, subject or text is still a message', async () => {
  const mail = await readBack({ to: [], subject: null, text: null })
  assert.equal(mail.to, undefined)
  assert.equal(mail.subject, undefined)
  assert.equal(unixText(mail.text), '')
  assert.match(textOf({ text: null }), /Content-Type: text\/plain; charset=utf-8\r\n[^]*\r\n\r\n$/)
  assert.match(textOf({ text: '' }), /\r\n\r\n$/)
})

test("a customer's Message-ID takes the place of ours, and stands once", () => {
  const source = textOf({ headers: [['message-id', '<mine@acme.example>']] })
  assert.deepEqual(source.match(/^message-id:.*$/gim), ['Message-ID: <mine@acme.example>'])
})

test('a value with a line break cannot be written, wherever it comes from', () => {
  const evil = 'x\r\nBcc: victim@example.com'
  assert.throws(() => compose(aMessage({ headers: [['X-A', evil]] })))
  assert.throws(() => compose(aMessage({ messageId: `<a@b>\r\nBcc: victim@example.com` })))
  assert(!/^Bcc/m.test(textOf({ subject: evil })))
  assert(!/^Bcc/m.test(textOf({ from: { ...address('a@b.example'), name: evil } })))
  assert(!/^Bcc/m.test(textOf({ attachments: [aFile({ filename: evil, contentType: evil, contentId: evil })] })))
})

test('text is 7bit where it can be, otherwise whichever of quoted-printable and base64 is shorter', () => {
  const encoding = (text: string) => /Content-Transfer-Encoding: (\S+)/.exec(textOf({ text }))![1]
  assert.equal(encoding('plain\nlines'), '7bit')
  assert.equal(encoding('x'.repeat(998)), '7bit')
  assert.equal(encoding('x'.repeat(999)), 'quoted-printable')
  assert.equal(encoding('nul \0 inside'), 'quoted-printable')
  assert.equal(encoding('Viele Grüße aus München, der schönen Stadt an der Isar'), 'quoted-printable')
  assert.equal(encoding('日本語のテキスト'), 'base64')
  assert.equal(encoding('='.repeat(2000)), 'base64')
})

test('only the multipart levels that are needed are made', () => {
  const shape = (over: Partial<OutgoingMessage>) =>
    [...textOf(over).matchAll(/^Content-Type: ([\w/-]+)/gm)].map(match => match[1]).join(' ')
  const image = aFile({ contentType: 'image/png', contentId: 'logo', inline: true })
  const html = '<img src="cid:logo">'
  assert.equal(shape({ html: null }), 'text/plain')
  assert.equal(shape({ text: null, html }), 'text/html')
  assert.equal(shape({ html }), 'multipart/alternative text/plain text/html')
  assert.equal(shape({ attachments: [aFile()] }), 'multipart/mixed text/plain text/plain')
  assert.equal(shape({ text: null, attachments: [image] }), 'image/png')
  assert.equal(shape({ text: null, html, attachments: [image] }), 'multipart/related text/html image/png')
  assert.equal(
    shape({ html, attachments: [aFile({ contentType: 'application/pdf' }), image] }),
    'multipart/mixed multipart/related multipart/alternative text/plain text/html image/png application/pdf',
  )
  // A file with a content id that the page does not mention is an attachment like any other.
  const unused = aFile({ contentType: 'image/png', contentId: 'unused' })
  assert.equal(shape({ text: null, html, attachments: [unused] }), 'multipart/mixed text/html image/png')
})

test('a file belongs to the page however the page refers to it', () => {
  const isRelated = (html: string, contentId: string) =>
    textOf({ text: null, html, attachments: [aFile({ contentType: 'image/png', contentId })] }).includes(
      'multipart/related',
    )
  for (const html of [
    '<img src="cid:logo@acme">',
    "<img src='cid:logo@acme'>",
    '<img src=cid:logo@acme>',
    '<img src=cid:logo@acme alt=x>',
    '<p style="background: url(cid:logo@acme)">',
    '<p style="background: url(&quot;cid:logo@acme&quot;)">',
    '<img srcset="cid:other 1x, cid:logo@acme, cid:third 2x">',
    '<img src="CID:logo@acme">',
    'cid:logo@acme',
  ]) {
    assert.ok(isRelated(html, 'logo@acme'), html)
    assert.ok(isRelated(html, '<logo@acme>'), html)
    assert.ok(!isRelated(html, 'logo2@acme'), html)
  }
  assert.ok(isRelated('<img src="cid:a,b;c">', 'a,b;c'))
  assert.ok(isRelated("<img src='cid:o(1)'>", 'o(1)'))
})

test('a thousand files and a page of 10 MiB are matched in one pass over the page', async () => {
  const attachments = Array.from({ length: 1_000 }, (_, n) =>
    aFile({ contentId: `file-${n}`, content: Buffer.from('x') }),
  )
  for (const text of ['c', 'cid:', 'cid:x ', 'cid:file-', 'cid:(', 'cid:&']) {
    const html = text.repeat((10 * 1024 * 1024) / text.length)
    const cpuMsOf = (fields: object): number => {
      const cpuMs = cpuStopwatch()
      compose(aMessage({ html, ...fields }))
      return cpuMs()
    }
    const moreMs = await bestOfThree(250, () => cpuMsOf({ attachments }) - cpuMsOf({}))
    assert.ok(moreMs < 250, `${JSON.stringify(text)} took ${moreMs.toFixed(0)} ms more`)
  }
})

test('a reference without end is read also by an expression that V8 has not optimized, as in a process that is up for long', () => {
  const module = new URL('./cid-references.ts', import.meta.url).href
  const script = `const { referredIn } = await import('${module}')
    const html = 'cid:'.repeat(2.5 * 1024 * 1024) + ' <img src="cid:logo@acme">'
    console.log(...referredIn(html, [{ contentId: 'logo@acme' }]))`
  const options = ['--no-regexp-optimization', '--input-type=module', '--eval', script]
  const { stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' })
  assert.equal(stdout, 'logo@acme\n', stderr)
})

test('a boundary occurs only where a part begins or ends', () => {
  const source = textOf({ html: '<p>x</p>', attachments: [aFile()] })
  const boundaries = [...source.matchAll(/boundary="(=_[^"]+)"/g)].map(match => match[1]!)
  assert.equal(new Set(boundaries).size, 2)
  for (const boundary of boundaries) {
    assert.equal(source.split(`\r\n--${boundary}\r\n`).length - 1, 2)
    assert.equal(source.split(`\r\n--${boundary}--\r\n`).length - 1, 1)
    assert.equal(source.split(boundary).length - 1, 4)
  }
})

test('files keep their bytes, names, types and content ids', async () => {
  const names = [
    'report.pdf',
    'Übersicht März.pdf',
    'レポート 2026.xlsx',
    'תקציר.docx',
    'a"b\\c;d.txt',
    '😀'.repeat(80),
  ]
  const attachments = names.map((filename, index) =>
    aFile({ filename, contentType: 'application/pdf', content: Buffer.from([0, index, 255, 13, 10, 46]) }),
  )
  const inline = aFile({ filename: null, contentType: 'image/png', contentId: '<logo@acme>', inline: true })
  const mail = await readBack({ html: '<img src="cid:logo@acme">', attachments: [...attachments, inline] })
  assert.equal(mail.attachments.length, names.length + 1)
  const [logo, ...files] = mail.attachments
  assert.equal(logo!.contentId, '<logo@acme>')
  assert.equal(logo!.disposition, 'inline')
  assert.equal(logo!.filename, null)
  for (const [index, file] of files.entries()) {
    assert.equal(file.filename, names[index])
    assert.equal(file.mimeType, 'application/pdf')
    assert.equal(file.disposition, 'attachment')
    assert.deepEqual(Buffer.from(file.content as ArrayBuffer), attachments[index]!.content)
  }
})

test('a thousand recipients are folded into short lines', async () => {
  const to = Array.from({ length: 1000 }, (_, n) => address(`"Person, ${n}" <person${n}@example.com>`))
  const source = compose(aMessage({ to }))
  assert(
    source
      .toString('latin1')
      .split('\r\n')
      .every(line => line.length <= 78),
  )
  const mail = await PostalMime.parse(source)
  assert.deepEqual(
    mail.to,
    to.map(({ name, address: mailbox }) => ({ name, address: mailbox })),
  )
})

test('a local part in UTF-8 is the one thing written in UTF-8', async () => {
  const source = compose(aMessage({ to: [address('用户 <用户@example.com>')] }))
  assert.deepEqual((await PostalMime.parse(source)).to, [{ name: '用户', address: '用户@example.com' }])
})

test('text in line without a name is a file of its own, not a part of the text', () => {
  for (const [contentType, filename] of [
    ['text/plain', 'attachment.txt'],
    ['text/html', 'attachment.html'],
  ] as const) {
    const source = compose(aMessage({ attachments: [aFile({ filename: ' ', contentType, inline: true })] }))
    const mail = parseMail(new Uint8Array(source))
    assert.ok('text' in mail)
    assert.equal(unixText(mail.text ?? ''), 'Hi Jane')
    assert.deepEqual(
      mail.attachments.map(each => each.filename),
      [filename],
    )
  }
})

test('twenty attachments of 25 MB in all are composed without work that grows with their square', () => {
  const content = Buffer.alloc(26_214_400 / 20, 'x')
  const attachments = Array.from({ length: 20 }, () => aFile({ content }))
  const cpuMs = cpuStopwatch()
  const source = compose(aMessage({ attachments }))
  assert(cpuMs() < 5000, 'about 100 ms on a small machine')
  assert(source.length > 26_214_400 * 1.36 && source.length < 26_214_400 * 1.38)
})

const words = fc.string({ unit: 'grapheme', maxLength: 300 })
const bodies = fc.option(
  fc
    .array(fc.oneof(words, fc.constantFrom('\n', '\r\n', '\r', '.', '..\n', ' \n', '\t', '=', '--x', 'From ', '\0')), {
      maxLength: 20,
    })
    .map(pieces => pieces.join('')),
)
const files = fc.array(
  fc.record({
    filename: fc.option(fc.string({ unit: 'grapheme', maxLength: 90 })),
    contentType: fc.option(fc.oneof(fc.string(), fc.constantFrom('image/png', 'text/calendar; method=REQUEST'))),
    contentId: fc.option(fc.string({ maxLength: 30 })),
    inline: fc.boolean(),
    content: fc.uint8Array({ maxLength: 500 }).map(bytes => Buffer.from(bytes)),
  }),
  { maxLength: 3 },
)
const anyHeader = fc.tuple(fc.constantFrom('X-A', 'X-Rather-Long-Header-Name-To-Fold', 'Comments'), words)
const anyMessage = fc.record({
  subject: fc.option(fc.string({ unit: 'grapheme', maxLength: 900 })),
  text: bodies,
  html: bodies,
  headers: fc.array(anyHeader, { maxLength: 3 }),
  attachments: files,
})

test('whatever is composed is fit for the wire and read back the same', async () => {
  await fc.assert(
    fc.asyncProperty(anyMessage, async content => {
      const source = compose(aMessage(content))
      assertFitForTheWire(source)
      const mail = await PostalMime.parse(source)
      assert.equal(mail.subject ?? '', content.subject ?? '')
      if (content.text !== null) assert.equal(unixText(mail.text), unixText(content.text.toWellFormed()))
      if (content.html !== null) assert.equal(unixText(mail.html), unixText(content.html.toWellFormed()))
      // Calendars are the one type whose bytes postal-mime rewrites.
      if (content.attachments.some(file => file.contentType?.startsWith('text/calendar'))) return
      const sent = content.attachments.map(file => file.content.toString('hex')).toSorted()
      const got = mail.attachments.map(file => Buffer.from(file.content as ArrayBuffer).toString('hex')).toSorted()
      assert.deepEqual(got, sent)
    }),
  )
})

test('another composer given the same message is read the same', async () => {
  const plain = fc.record({ subject: words, text: words, html: words, content: fc.uint8Array({ maxLength: 300 }) })
  await fc.assert(
    fc.asyncProperty(plain, async ({ subject, text, html, content }) => {
      const attachments = [aFile({ filename: 'Bücher 1.bin', contentType: 'a/b', content: Buffer.from(content) })]
      const ours = await readBack({ subject, text, html, attachments })
      const theirs = await PostalMime.parse(await composeWithNodemailer({ subject, text, html, attachments }))
      assert.equal(ours.subject?.trim() ?? '', theirs.subject?.trim() ?? '')
      if (text !== '') assert.equal(unixText(ours.text), unixText(theirs.text))
      if (html !== '') assert.equal(unixText(ours.html), unixText(theirs.html))
      assert.deepEqual(ours.attachments, theirs.attachments)
      assert.deepEqual(ours.from, theirs.from)
      assert.deepEqual(ours.to, theirs.to)
      assert.equal(ours.date, theirs.date)
    }),
    { numRuns: 50 },
  )
})

function composeWithNodemailer(over: Partial<OutgoingMessage>): Promise<Buffer> {
  const { from, to, subject, text, html, attachments, messageId, date } = aMessage(over)
  const mail = new MailComposer({
    from: { name: from.name!, address: from.address },
    to: to.map(({ name, address: mailbox }) => ({ name: name!, address: mailbox })),
    subject: subject!,
    text: text!,
    html: html!,
    attachments: attachments.map(({ filename, contentType, content }) => ({
      filename: filename!,
      contentType: contentType!,
      content,
    })),
    messageId,
    date,
  })
  return mail.compile().build()
}
