import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { composeMessage } from '../../mail/mime/compose.ts'
import { attachmentBytes } from './attachment-size.ts'
import { FROM, refusalOf } from './prepare-mail.fixture.ts'

const address = (text: string) => ({ name: null, address: text, domain: text.split('@')[1]!, smtputf8: false })

function composed(attachments: { content: Buffer; inline: boolean }[], html: string | null): Buffer {
  return composeMessage({
    from: address('a@acme.example') as never,
    to: [],
    cc: [],
    replyTo: [],
    subject: 's',
    text: 'text\n--not a separator\n',
    html,
    headers: [],
    attachments: attachments.map(({ content, inline }, n) => ({
      filename: `f${n}`,
      contentType: 'application/octet-stream',
      contentId: inline ? `c${n}` : null,
      inline,
      content,
    })),
    messageId: '<a@b>',
    date: new Date('2026-11-15T03:00:00Z'),
  })
}

test('what we compose is measured to the byte, however it is nested', () => {
  const attachment = fc.record({
    content: fc.uint8Array({ maxLength: 500 }).map(bytes => Buffer.from(bytes)),
    inline: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(attachment, { maxLength: 4 }), fc.constantFrom(null, '<p>x</p>'), (attachments, html) => {
      const wanted = attachments.reduce((sum, { content }) => sum + content.length, 0)
      assert.equal(attachmentBytes(composed(attachments, html)), wanted)
    }),
    { numRuns: 200 },
  )
})

test('a mail that is one attachment, one in clear text, and one that quotes are measured', () => {
  const part = (header: string, body: string): number => attachmentBytes(Buffer.from(`${header}\r\n\r\n${body}`))
  assert.equal(part('Content-Type: image/png\r\nContent-Transfer-Encoding: base64', 'AAAA\r\nAAA=\r\n'), 5)
  assert.equal(part('Content-Type: text/plain', 'hello'), 0)
  assert.equal(part('Content-Type: text/plain\r\nContent-Disposition: attachment', 'hello'), 5)
  assert.equal(
    part('Content-Type: application/x\r\nContent-Transfer-Encoding: quoted-printable', 'a=3Db'),
    'a=b'.length,
  )
  const nested = [
    'Content-Type: multipart/mixed; boundary=one',
    '',
    'preamble',
    '--one',
    'Content-Type: multipart/related;\r\n boundary="t w o"',
    '',
    '--t w o',
    'Content-Type: image/png',
    '',
    '1234',
    '--t w o--',
    'nobody reads this: Content-Type: image/png',
    '--one  ',
    'Content-Type: application/x',
    '',
    '',
    '--one--',
    '12345678',
  ]
  assert.equal(attachmentBytes(Buffer.from(nested.join('\r\n'))), 4)
})

test('more than 25 MB of attachments are refused over SMTP as they are over HTTP, in a moment', () => {
  const mail = (bytes: number): Buffer => {
    const content = randomBytes(bytes).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
    const header = `${FROM}\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n`
    return Buffer.from(`${header}${content}\r\n`)
  }
  const largest = mail(26_214_400)
  assert.equal(attachmentBytes(largest), 26_214_400)
  assert.match(refusalOf(mail(26_214_401)), /^552 5\.3\.4 /)
  const header = `${FROM}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n`
  for (const source of [largest, Buffer.from(`${header}${'\r\n--c'.repeat(6_000_000)}`)]) {
    assert.ok(quickest(() => attachmentBytes(source)) < 250, '250 ms of the main thread at the most')
  }
})

/** Of three, the processor's time of this thread: others run beside us. */
const quickest = (run: () => unknown): number =>
  Math.min(
    ...Array.from({ length: 3 }, () => {
      const began = process.threadCpuUsage()
      run()
      const { user, system } = process.threadCpuUsage(began)
      return (user + system) / 1_000
    }),
  )

test('thousands of parts without a blank line are measured in a moment', () => {
  const part = `\r\n--b\r\nContent-Type: image/png\r\nX-Long: ${'x'.repeat(3_000)}`
  const source = Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(9_900)}`)
  attachmentBytes(source.subarray(0, 100_000))

  const began = process.cpuUsage().user
  attachmentBytes(source)
  const tookMs = (process.cpuUsage().user - began) / 1_000

  assert.ok(tookMs < 1_000, `${tookMs.toFixed(0)} ms for ${(source.length / 1e6).toFixed(0)} MB`)
})
