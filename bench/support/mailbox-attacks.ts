// What a hostile customer or stranger does to mailboxes. Each word of a mail is an entry in the search index, for every inbox
// that the mail is filed in.
import type { Plan, Target } from './attacks.ts'
import { rawSmtp } from './smtp-raw.ts'

const words = (count: number, from: number): string =>
  Array.from({ length: count }, (_, n) => (from + n).toString(36).padStart(6, 'w')).join(' ')

let made = 0

async function compose({ url, bearer, inboxes }: Target): Promise<void> {
  const { id } = inboxes[made % inboxes.length]!
  const reply = await fetch(`${url}/v1/inboxes/${id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: ['someone@example.com'], subject: 'x', text: words(9_000, (made++ % 50) * 9_000) }),
  })
  await reply.arrayBuffer()
}

async function mailMany({ mxPort, inboxes }: Target): Promise<void> {
  const smtp = await rawSmtp(mxPort)
  await smtp.reply()
  await smtp.say('EHLO hostile.example')
  await smtp.say('MAIL FROM:<a@example.com>')
  for (const { address } of inboxes) await smtp.say(`RCPT TO:<${address}>`)
  await smtp.say('DATA')
  const lines = words(20_000, (made++ % 50) * 20_000).replaceAll(/((?:\S+ ){10})/g, '$1\r\n')
  await smtp.write(Buffer.from(`From: a@example.com\r\nSubject: x ${made}\r\n\r\n${lines}\r\n`))
  await smtp.say('.')
  smtp.socket.destroy()
}

async function search({ url, bearer, inboxes }: Target): Promise<void> {
  for (const q of ['-w', 'label:none', 'has:attachment x', 'w0', '"w w"']) {
    const reply = await fetch(`${url}/v1/inboxes/${inboxes[0]!.id}/search?limit=500&q=${encodeURIComponent(q)}`, {
      headers: { authorization: `Bearer ${bearer}` },
    })
    await reply.arrayBuffer()
  }
}

export const MAILBOX_ATTACKS: Record<string, Plan> = {
  'composed mail of 9,000 different words, 100 at once': { atOnce: 100, act: compose },
  'MX: mail of 20,000 different words to 100 inboxes, 4 at once': { atOnce: 4, act: mailMany },
  'searches of an inbox, 50 at once': { atOnce: 50, act: search },
}
