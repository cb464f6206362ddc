// OpenDKIM verifies what we signed, as the receiving Postfix asks it to.
import assert from 'node:assert/strict'
import { eventually } from '../support/eventually.ts'
import { check, section, version } from './checks.ts'
import { PEER, type MailSite } from './mail-site.ts'

/** Forms that break signatures where a signer and a verifier disagree. */
const MAILS: Record<string, object> = {
  'plain text with dots and trailing spaces': { text: 'One  \n.\n..two \n\n\n' },
  'text and HTML in another script': { text: 'Grüße, 世界', html: '<p>Grüße, 世界</p>' },
  'a subject that is encoded and folded': { text: 'x' },
  'long lines': { text: 'word '.repeat(2_000), html: `<p>${'word '.repeat(2_000)}</p>` },
  'an attachment of a megabyte': {
    text: 'See the file',
    attachments: [{ filename: 'Übersicht.bin', content: Buffer.alloc(1024 * 1024, 'sluice').toString('base64') }],
  },
  'no text at all': { text: '' },
}

export async function tryOpenDkim(site: MailSite): Promise<void> {
  const { peer, customer } = site
  section('OpenDKIM verifying our signatures', await version('opendkim', ['-V']))
  let signed = ''
  for (const [name, fields] of Object.entries(MAILS)) {
    await check(`our signature is good: ${name}`, async () => {
      const subject = name.includes('encoded') ? `${name}: ${'Grüße aus Köln '.repeat(10).trim()}` : name
      await customer.send({
        to: [`reader@${PEER}`],
        metadata: { mail: name },
        ...fields,
        subject,
        headers: { 'X-Form': name },
      })
      signed = await eventually('it arrives', async () =>
        (await peer.mailsOf('reader')).find(mail => mail.includes(`X-Form: ${name}`)),
      )
      assert.match(resultOf(signed), new RegExp(`dkim=pass .*header\\.d=${customer.domain.replaceAll('.', '\\.')}`))
    })
  }
  await check('a mail that was changed after we signed it fails, so the check can fail', async () => {
    const raw = signed.slice(signed.indexOf('DKIM-Signature:')).replace(/^X-Form: .*$/m, 'X-Form: changed') + 'more\r\n'
    await site.inject({ envelope: { from: `sender@${PEER}`, to: [`reader@${PEER}`] }, raw })
    const changed = await eventually('it arrives', async () =>
      (await peer.mailsOf('reader')).find(mail => mail.includes('X-Form: changed')),
    )
    assert.match(resultOf(changed), /dkim=fail/)
  })
}

/** On one line; the topmost is OpenDKIM's. */
const resultOf = (mail: string): string =>
  /^Authentication-Results: (.*(?:\n[ \t].*)*)/m.exec(mail)?.[1]?.replaceAll(/\s+/g, ' ') ?? 'no result'
