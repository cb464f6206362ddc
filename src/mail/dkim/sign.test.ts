import assert from 'node:assert/strict'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import test, { before } from 'node:test'
import * as fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { dkimRecord, generateDkimKey, signDkim } from './sign.ts'

let key: KeyObject
let record: string

before(async () => {
  const pair = await generateDkimKey()
  key = createPrivateKey(pair.privateKeyPem)
  record = dkimRecord(pair.publicKeyBase64)
})

const now = new Date('2026-11-15T02:51:07.900Z')
const HEADER =
  'From: A <a@acme.example>\r\nTo: b@example.com\r\nSubject: Hi\r\nDate: Sun, 15 Nov 2026 02:51:07 +0000\r\n'

const signatureOf = (source: Buffer): Promise<string> =>
  signDkim({ source, domain: 'acme.example', selector: 's1', key, now })

async function verdictOn(source: Buffer): Promise<string | undefined> {
  const resolver = async (name: string) => {
    assert.equal(name, 's1._domainkey.acme.example')
    return [[record]]
  }
  const { results } = await dkimVerify(source, { resolver, curTime: now })
  return results[0]?.status.result
}

async function signed(source: Buffer): Promise<Buffer> {
  return Buffer.concat([Buffer.from(await signatureOf(source), 'latin1'), source])
}

test('a signature is verified by another implementation', async () => {
  assert.equal(await verdictOn(await signed(Buffer.from(`${HEADER}\r\nHello\r\n`))), 'pass')
})

test('the field says who signed what and when, in lines of at most 78', async () => {
  const field = await signatureOf(Buffer.from(`${HEADER}Message-ID: <a@b>\r\nX-Other: x\r\n\r\nHello\r\n`))
  assert(
    field.startsWith(
      'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=acme.example;\r\n s=s1; t=1794711067;\r\n',
    ),
  )
  const names = /\r\n h=([^;]*);\r\n/.exec(field)![1]!.replaceAll(/\s/g, '')
  assert.equal(
    names,
    'From:From:To:To:Cc:Subject:Subject:Date:Date:Message-ID:Message-ID:Reply-To:MIME-Version:Content-Type:' +
      'Content-Transfer-Encoding:List-Unsubscribe:List-Unsubscribe-Post',
  )
  assert(field.endsWith('\r\n'))
  assert(field.split('\r\n').every(line => line.length <= 78))
})

test('the body hash of an empty body is that of the empty string, as RFC 6376 §3.4.4 gives it', async () => {
  for (const source of [HEADER, `${HEADER}\r\n`, `${HEADER}\r\n\r\n\r\n`, `${HEADER}\r\n \t\r\n`]) {
    assert.match(await signatureOf(Buffer.from(source)), / bh=47DEQpj8HBSa\+\/TImW\+5JCeuQeRkm5NMpJWZG3hSuFU=;/)
  }
})

const bodyPieces = fc.constantFrom(
  'a',
  'word',
  ' ',
  '  ',
  '\t',
  '\r\n',
  '\r\n\r\n',
  ' \r\n',
  '\t\r\n ',
  '.',
  '\xa0',
  '=',
)
const headerPieces = fc.constantFrom(
  'Subject: again\r\n',
  'To: c@example.com,\r\n\t d@example.com\r\n',
  'References: <1@x>\r\n   <2@x>  \r\n',
  'Cc:\r\n e@example.com\r\n',
  'reply-to :  r@example.com\r\n',
  'LIST-Unsubscribe: <https://x.example/u>\r\n',
  'X-Unsigned: \t\r\n',
  'Content-Type: text/plain;\r\n\tcharset=utf-8\r\n',
)

test('any body and any header, with blanks, folds and repeated fields, is verified', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(headerPieces, { maxLength: 6 }),
      fc.array(bodyPieces, { maxLength: 40 }),
      async (header, body) => {
        const source = Buffer.from(`${HEADER}${header.join('')}\r\n${body.join('')}`, 'latin1')
        assert.equal(await verdictOn(await signed(source)), 'pass', JSON.stringify(source.toString('latin1')))
      },
    ),
    { numRuns: 300 },
  )
})

test('a body longer than the scratch buffer is hashed in full, whatever its lines are like', async () => {
  const lines = [
    'nothing-blank\r\n',
    'double  blanks\there \r\n',
    `${'long  line '.repeat(9000)}\r\n`,
    ' '.repeat(70_000),
  ]
  for (const line of lines) {
    const source = await signed(Buffer.from(`${HEADER}\r\n${line.repeat(Math.ceil(200_000 / line.length))}end\r\n`))
    assert.equal(await verdictOn(source), 'pass')
    source[source.length - 4]! ^= 1
    assert.notEqual(await verdictOn(source), 'pass')
  }
})

test('a change of the body or of a signed field, or a second From, is noticed', async () => {
  const source = (await signed(Buffer.from(`${HEADER}X-Free: x\r\n\r\nHello  world\r\n`))).toString('latin1')
  const after = (change: string) => verdictOn(Buffer.from(change, 'latin1'))
  assert.equal(await after(source), 'pass')
  assert.equal(await after(source.replace('X-Free: x', 'X-Free: y')), 'pass')
  assert.equal(await after(source.replace('Hello  world', 'Hello world  ')), 'pass')
  assert.notEqual(await after(source.replace('Hello', 'Jello')), 'pass')
  assert.notEqual(await after(source.replace('Hello  world', 'Helloworld')), 'pass')
  assert.notEqual(await after(source.replace('Subject: Hi', 'Subject: Ho')), 'pass')
  assert.notEqual(await after(source.replace('From: A', 'From: B')), 'pass')
  assert.notEqual(await after(source.replace('X-Free', 'From: evil@evil.example\r\nX-Free')), 'pass')
  assert.notEqual(await after(`From: evil@evil.example\r\n${source}`), 'pass')
})

const SEEN = [
  'From: evil@evil.example',
  'To: evil@evil.example',
  'Cc: evil@evil.example',
  'Subject: Another',
  'Date: Mon, 16 Nov 2026 02:51:07 +0000',
  'Message-ID: <evil@evil.example>',
  'Reply-To: evil@evil.example',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=x',
  'Content-Transfer-Encoding: base64',
  'List-Unsubscribe: <https://evil.example/u>',
  'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
]
const FULL = `${HEADER}Cc: c@example.com\r\nMessage-ID: <a@acme.example>\r\nReply-To: r@acme.example\r\nMIME-Version: 1.0\r\n`
const WHOLE = `${FULL}Content-Type: text/plain\r\nContent-Transfer-Encoding: 7bit\r\nList-Unsubscribe: <https://acme.example/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`

for (const [what, header] of Object.entries({ 'was not there': HEADER, 'was there already': WHOLE })) {
  test(`a field that readers see, added where it ${what}, breaks the signature`, async () => {
    const source = (await signed(Buffer.from(`${header}\r\nHello\r\n`))).toString('latin1')
    assert.equal(await verdictOn(Buffer.from(source, 'latin1')), 'pass')
    for (const line of SEEN) {
      const below = source.replace('\r\n\r\n', `\r\n${line}\r\n\r\n`)
      for (const changed of [`${line}\r\n${source}`, below]) {
        assert.notEqual(await verdictOn(Buffer.from(changed, 'latin1')), 'pass', line)
      }
    }
  })
}
