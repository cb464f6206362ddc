// Our own verification of DKIM agrees with mailauth, whatever the mail and its signature look like.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import * as fc from 'fast-check'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { bestOfThree, longestTurn } from '../../../test/support/main-thread.ts'
import {
  atOnce,
  aMail,
  anEd25519Signer,
  anRsaSigner,
  NOW,
  signed,
  zoneResolver,
  type Signer,
} from './authentication.fixture.ts'
import { Slices } from '../../platform/slices.ts'
import { findBareLineBreak } from '../mime/headers.ts'
import { readRawMail } from './header-fields.ts'
import { libraryResolver } from './resolve.ts'
import { verifyDkim, type InSlices } from './verify-dkim.ts'

let rsa: Signer
let ed25519: Signer
before(async () => {
  rsa = await anRsaSigner()
  ed25519 = anEd25519Signer()
})

const resolver = () =>
  zoneResolver({ 's1._domainkey.acme.example TXT': [rsa.record], 's2._domainkey.acme.example TXT': [ed25519.record] })
    .resolve

async function ours(source: Buffer, inSlices: InSlices = atOnce): Promise<string[]> {
  return (await verifyDkim(readRawMail(source)!, { resolve: resolver(), receivedAt: NOW, inSlices })).map(
    ({ result }) => result,
  )
}

/** mailauth calls neutral what RFC 8601 calls a permanent error of the key; the rest is the same. */
async function theirs(source: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(source, {
    resolver: libraryResolver(resolver()),
    curTime: NOW,
    strict: true,
  } as never)
  return results
    .map(({ status }) => {
      if (KEY_TROUBLE.test(status.comment ?? '')) return 'permerror'
      return status.result === 'pass' && status.underSized ? 'policy' : status.result
    })
    .filter(result => result !== 'none')
}

const KEY_TROUBLE = /key/

const bodyPieces = fc.constantFrom('a', 'word', ' ', '  ', '\t', '\r\n', '\r\n\r\n', ' \r\n', '.', '\xa0', '=', 'é')
const headerPieces = fc.constantFrom(
  'Subject: again\r\n',
  'To: c@example.com,\r\n\t d@example.com\r\n',
  'Cc:\r\n e@example.com\r\n',
  'reply-to :  r@example.com\r\n',
  'X-Unsigned: \t\r\n',
  'no field at all\r\n',
  'From: second@acme.example\r\n',
  'Content-Type: text/plain;\r\n\tcharset=utf-8\r\n',
)

test('both agree on mails signed in every form, whole and tampered with', async () => {
  const forms = ['simple/simple', 'relaxed/relaxed', 'simple/relaxed', 'relaxed/simple', 'relaxed']
  await fc.assert(
    fc.asyncProperty(
      fc.array(headerPieces, { maxLength: 5 }),
      fc.array(bodyPieces, { maxLength: 30 }),
      fc.constantFrom(...forms),
      fc.boolean(),
      fc.option(fc.nat(20)),
      fc.tuple(fc.nat(900), fc.constantFrom('x', ' ', '\r\n', ';')),
      async (header, body, canonicalization, isRsa, maxBodyLength, change) => {
        const source = Buffer.concat([Buffer.from(header.join(''), 'latin1'), aMail(body.join(''))])
        const { signatures } = await dkimSign(source, {
          canonicalization,
          signTime: new Date(NOW.getTime() - 60_000),
          signatureData: [
            {
              signingDomain: 'acme.example',
              selector: isRsa ? 's1' : 's2',
              privateKey: (isRsa ? rsa : ed25519).key.export({ type: 'pkcs8', format: 'pem' }).toString(),
              algorithm: isRsa ? 'rsa-sha256' : 'ed25519-sha256',
              ...(maxBodyLength === null ? {} : { maxBodyLength }),
            },
          ],
        } as never)
        const text = signatures + source.toString('latin1')
        const whole = Buffer.from(text, 'latin1')
        assert.deepEqual(await ours(whole), await theirs(whole), JSON.stringify(text))
        // A first line that begins with a blank is no signature for us.
        const at = Math.min(change[0] + 1, text.length)
        const tampered = Buffer.from(text.slice(0, at) + change[1] + text.slice(at), 'latin1')
        // Bare line breaks never come this far.
        if (findBareLineBreak(tampered) !== -1) return
        const passed = (results: string[]): number => results.filter(result => result === 'pass').length
        // Ours may refuse what mailauth still reads, never the other way round.
        assert(
          passed(await ours(tampered)) <= passed(await theirs(tampered)),
          JSON.stringify(tampered.toString('latin1')),
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('of signatures that each sign another length of the body the first ones are verified', async () => {
  const lengths = [0, 1, 2, 3, 4, 5]
  let source = aMail('a body of some length')
  for (const maxBodyLength of lengths) {
    const { signatures } = await dkimSign(source, {
      canonicalization: 'relaxed/relaxed',
      signTime: new Date(NOW.getTime() - 60_000),
      signatureData: [
        {
          signingDomain: 'acme.example',
          selector: 's2',
          privateKey: ed25519.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
          algorithm: 'ed25519-sha256',
          maxBodyLength,
        },
      ],
    } as never)
    // One that was hashed would fail.
    source = Buffer.concat([Buffer.from(signatures.replace(/bh=./, 'bh=!'), 'latin1'), source])
  }
  const whole = await signed(source, rsa)
  const hashed = await ours(whole)

  const countOf = (wanted: string): number => hashed.filter(result => result === wanted).length
  assert.deepEqual([countOf('pass'), countOf('fail'), countOf('policy')], [1, 3, 3])
})

test('both agree on signatures whose tags are odd', async () => {
  const source = (await signed(aMail(), rsa)).toString('latin1')
  const changes: [RegExp, string][] = [
    [/v=1/, 'v=2'],
    [/v=1; /, ''],
    [/a=rsa-sha256/, 'a=rsa-md5'],
    [/a=rsa-sha256/, 'a=ed25519-sha256'],
    [/c=relaxed\/relaxed; /, ''],
    [/c=relaxed\/relaxed/, 'c=odd/odd'],
    [/d=acme\.example/, 'd=acme'],
    [/d=acme\.example/, 'd=ACME.example'],
    [/s=s1/, 's=absent'],
    [/s=s1/, 's=s2'],
    [/s=s1/, 's=s 1'],
    [/From:From:/, ''],
    [/v=1/, 'v=1; v=1'],
    [/v=1/, 'v=1; x=1'],
    [/v=1/, 'v=1; l=abc'],
    [/v=1/, 'v=1; q=odd'],
    [/v=1/, 'v=1; i=@other.example'],
    [/v=1/, 'v=1; i=ann@sub.acme.example'],
    [/v=1/, 'V=1'],
    [/ b=/, ' b ='],
    [/ b=/, ' z=From:x|b=; b='],
    [/ bh=/, ' bh=A'],
  ]
  for (const [pattern, replacement] of changes) {
    const mail = Buffer.from(source.replace(pattern, replacement), 'latin1')
    assert.deepEqual(await ours(mail), await theirs(mail), `${pattern} -> ${replacement}`)
  }
  const weak = source.replace('a=rsa-sha256', 'a=rsa-sha1')
  assert.deepEqual(await ours(Buffer.from(weak, 'latin1')), ['policy'])
})

test('a signature that covers only the beginning of the body does not vouch for the mail', async () => {
  const { signatures } = await dkimSign(aMail('Signed\r\n'), {
    signatureData: [
      {
        signingDomain: 'acme.example',
        selector: 's1',
        privateKey: rsa.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
        maxBodyLength: 8,
      },
    ],
    signTime: NOW,
  } as never)
  const whole = Buffer.from(signatures + aMail('Signed\r\n').toString('latin1'), 'latin1')
  assert.deepEqual(await ours(whole), ['pass'])
  assert.deepEqual(await ours(Buffer.concat([whole, Buffer.from('Added by a stranger\r\n')])), ['policy'])
})

test('a signature does not vouch for a mail with a field above a signed one of its name', async () => {
  const signed = Buffer.concat([Buffer.from('Content-Type: text/plain\r\n'), aMail('Signed\r\n')])
  const { signatures } = await dkimSign(signed, {
    headerList: ['From', 'To', 'Subject', 'Date', 'Content-Type'],
    signatureData: [
      {
        signingDomain: 'acme.example',
        selector: 's1',
        privateKey: rsa.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
    ],
    signTime: NOW,
  } as never)
  const read = (added: string): Promise<string[]> =>
    ours(Buffer.from(added + signatures + signed.toString('latin1'), 'latin1'))
  assert.deepEqual(await read(''), ['pass'])
  assert.deepEqual(await read('X-List: one\r\nReceived: from x\r\nContent-Type:  text/plain\r\n'), ['pass'])
  for (const added of [
    'Subject: Pay this\r\n',
    'Content-Type: multipart/mixed; boundary=b\r\n',
    'Date: Mon, 1 Jan 2024 00:00:00 Z\r\n',
  ]) {
    assert.deepEqual(await read(added), ['policy'], added)
  }
})

test('keys that are too short, too long to check, revoked or not for mail do not vouch', async () => {
  const source = await signed(aMail(), rsa)
  const verdict = async (record: string): Promise<string> => {
    const { resolve } = zoneResolver({ 's1._domainkey.acme.example TXT': [record] })
    return (await verifyDkim(readRawMail(source)!, { resolve, receivedAt: NOW, inSlices: atOnce }))[0]!.result
  }
  assert.equal(await verdict(rsa.record), 'pass')
  for (const record of [
    'v=DKIM1; p=',
    'p=garbage!',
    '',
    `${rsa.record}; s=other`,
    `${rsa.record}; h=sha1`,
    `k=odd; ${rsa.record}`,
  ]) {
    assert.equal(await verdict(record), 'permerror', record)
  }
  assert.equal(await verdict(`v=DKIM1; p=${SHORT_KEY}`), 'policy')
})

/** 768 bits. */
const SHORT_KEY =
  'MHwwDQYJKoZIhvcNAQEBBQADawAwaAJhALG1MaFlWWMphECb0kBr+uUIez1lpTl60qB379cYaiO/jLNm2qvS2//uM8d4aCdKhQCL+5gBprqv' +
  '+HQUDnY0rCzT6dyAQQ6DAdOEJzpj+fkdRnG+uqGT0T4/URG4tAdOWwIDAQAB'

test('a mail of 16 MB is hashed without holding others for more than 20 ms', async () => {
  const forms = {
    'text with blanks \r\n': 16_777_216,
    'one line of words ': 8_388_608,
    ' ': 8_388_608,
    '\r\n': 8_388_608,
  }
  const slices = new Slices()
  for (const [line, size] of Object.entries(forms)) {
    const source = await signed(aMail(line.repeat(Math.ceil(size / line.length))), rsa)
    let results: string[] = []
    const longestMs = await bestOfThree(20, () =>
      longestTurn(async () => {
        results = await ours(source, work => slices.run(work, ['test']))
      }),
    )
    assert.deepEqual(results, ['pass'])
    assert(longestMs < 20, `one turn took ${longestMs} ms with ${JSON.stringify(line)}`)
  }
})
