// Postfix as a server of somebody else: it sends to our MX from a real queue, and receives what we deliver.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { eventually } from '../support/eventually.ts'
import { check as checkSentence, PATIENCE_MS, section, version } from './checks.ts'
import { PEER, type MailSite } from './mail-site.ts'

const LARGE_BYTES = 10 * 1024 * 1024
const LINES_SHOWN = 20

export async function tryPostfix(site: MailSite): Promise<void> {
  section('Postfix as sender to our MX', await version('postconf', ['-h', 'mail_version']))
  await trySending(site)
  section('Postfix as receiver of our deliveries')
  await tryReceiving(site)
}

async function trySending({ peer, customer, inject }: MailSite): Promise<void> {
  const check = checkWithLog(peer)
  const inbox = await customer.anInbox('postfix')
  await check('mail from its queue arrives over STARTTLS', async () => {
    await inject({ to: inbox.address, subject: 'From the queue', text: 'Hello\n.\n..dots' })
    const { text } = await customer.arrival(inbox.id, 'From the queue')
    assert.equal(text.replaceAll('\r\n', '\n').trim(), 'Hello\n.\n..dots')
    assert.match(await peer.log(), /TLS connection established to 127\.0\.0\.1\[127\.0\.0\.1\]:\d+: TLSv1\.3/)
  })
  await check('it pipelines: MAIL, RCPT and DATA leave before the first reply', async () => {
    const said = (await peer.log()).split('\n').filter(line => / postfix\/smtp\[\d+\]: [<>] /.test(line))
    const from = said.findIndex(line => line.includes(': MAIL FROM:'))
    assert.ok(from >= 0, 'Postfix logs what it says')
    const words = said.slice(from, from + 3).map(line => /: ([<>]) \S+: (\w+)/.exec(line)?.slice(1).join(' '))
    assert.deepEqual(words, ['> MAIL', '> RCPT', '> DATA'])
  })
  await check('a mail of 10 MB arrives as it was sent', async () => {
    const content = randomBytes(LARGE_BYTES)
    await inject({
      to: inbox.address,
      subject: 'Large',
      text: 'See the file',
      attachments: [{ filename: 'a.bin', content }],
    })
    const { attachments } = await customer.arrival(inbox.id, 'Large')
    const file = await customer.download(`/v1/inbox-attachments/${attachments[0].id}`)
    assert.equal(sha256(file), sha256(content))
  })
  await check('an unknown recipient comes back to the sender as a bounce with our reason', async () => {
    await inject({ to: `nobody@${customer.domain}`, subject: 'To nobody', text: 'Hello' })
    const bounce = await eventually('the bounce', () => mailWith(peer, 'sender', 'To nobody'), PATIENCE_MS)
    assert.match(bounce, /Status: 5\.1\.1/)
    assert.match(bounce, /550 5\.1\.1 No such recipient here/)
  })
  await check('one unknown recipient of two does not keep the mail from the other', async () => {
    await inject({ to: [inbox.address, `noone@${customer.domain}`], subject: 'To one of two', text: 'Hello' })
    await customer.arrival(inbox.id, 'To one of two')
    await eventually('the bounce', () => mailWith(peer, 'sender', 'To one of two'), PATIENCE_MS)
  })
  await check('a paused inbox answers 450, and the mail is retried until it is taken', async () => {
    const paused = await customer.anInbox('paused')
    await customer.call('PATCH', `/v1/inboxes/${paused.id}`, { status: 'paused' })
    await inject({ to: paused.address, subject: 'Later', text: 'Hello' })
    const deferred = () => countOf(peer, /paused@.*status=deferred.*450 4\.2\.1/g)
    await eventually('it was tried twice', async () => (await deferred()) >= 2, PATIENCE_MS)
    await customer.call('PATCH', `/v1/inboxes/${paused.id}`, { status: 'active' })
    await customer.arrival(paused.id, 'Later')
  })
}

async function tryReceiving({ peer, customer }: MailSite): Promise<void> {
  const check = checkWithLog(peer)
  await check('our mail is delivered over STARTTLS', async () => {
    const id = await customer.send({ to: [`reader@${PEER}`], subject: 'To Postfix', text: 'Hello\n.\n..dots' })
    await customer.settled(id, 'delivered')
    const mail = await eventually('the mail', () => mailWith(peer, 'reader', 'To Postfix'), PATIENCE_MS)
    assert.match(mail, /\(using TLSv1\.3/)
    assert.match(mail, /with ESMTPS/)
    assert.match(mail, /\n\.\n\.\.dots/)
  })
  await check('ten recipients of one message all have it', async () => {
    const to = Array.from({ length: 10 }, (_, n) => `user${n}@${PEER}`)
    await customer.send({ to, subject: 'To ten', text: 'Hello' })
    for (let n = 0; n < 10; n++)
      await eventually(`user${n} has it`, () => mailWith(peer, `user${n}`, 'To ten'), PATIENCE_MS)
  })
  await check('a recipient that it does not know bounces, with its reason', async () => {
    const id = await customer.send({ to: [`nobody@${PEER}`], subject: 'To nobody', text: 'Hello' })
    const { smtp_code, enhanced_code, response } = await customer.settled(id, 'bounced')
    assert.deepEqual([smtp_code, enhanced_code], [550, '5.1.1'])
    assert.match(response, /User unknown in virtual mailbox table/)
  })
}

/** Where a sentence does not hold, what Postfix logged meanwhile says why: without the lines of its conversations. */
const checkWithLog =
  (peer: MailSite['peer']) =>
  async (sentence: string, act: () => Promise<void>): Promise<void> => {
    const before = (await peer.log()).length
    await checkSentence(sentence, () =>
      act().catch(async (error: unknown) => {
        const lines = (await peer.log()).slice(before).split('\n')
        const said = lines.filter(line => !/: [<>] /.test(line)).slice(-LINES_SHOWN)
        throw new Error(`Postfix logged:\n${said.join('\n')}`, { cause: error })
      }),
    )
  }

async function mailWith(peer: MailSite['peer'], local: string, subject: string): Promise<string | undefined> {
  return (await peer.mailsOf(local)).find(mail => mail.includes(`Subject: ${subject}`))
}

const countOf = async (peer: MailSite['peer'], pattern: RegExp): Promise<number> =>
  [...(await peer.log()).matchAll(pattern)].length

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex')
