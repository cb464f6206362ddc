// What a hostile customer or stranger does to mailboxes. Each word of a mail is an entry in the search index, for every inbox
// that the mail is filed in.
import { setTimeout as delay } from 'node:timers/promises'
import { aPdf, deflated } from '../../src/mailbox/attachments/files.fixture.ts'
import type { Plan, Target } from './attacks.ts'
import { rawSmtp } from './smtp-raw.ts'

const words = (count: number, from: number): string =>
  Array.from({ length: count }, (_, n) => (from + n).toString(36).padStart(6, 'w')).join(' ')

let made = 0

async function compose(target: Target): Promise<void> {
  const { id } = target.inboxes[made % target.inboxes.length]!
  const text = words(9_000, (made++ % 50) * 9_000)
  await post(target, `/v1/inboxes/${id}/messages`, JSON.stringify({ to: ['someone@example.com'], subject: 'x', text }))
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

type Ready = (target: Target) => Promise<string>

const post = async ({ url, bearer }: Target, path: string, body: string): Promise<void> => {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  await (await fetch(url + path, { method: 'POST', headers, body })).arrayBuffer()
}

/** Made once for all that attack at once. */
function once(make: Ready): Ready {
  let made: Promise<string> | null = null
  return target => (made ??= make(target))
}

/** A mail of the attacker's own, in an inbox of its own. */
const filed = (content: () => string): Ready =>
  once(async target => {
    const { id, address } = target.inboxes[0]!
    const smtp = await rawSmtp(target.mxPort)
    await smtp.reply()
    await smtp.say('EHLO hostile.example')
    await smtp.say('MAIL FROM:<a@example.com>')
    await smtp.say(`RCPT TO:<${address}>`)
    await smtp.say('DATA')
    const subject = `filed ${process.hrtime.bigint()}`
    await smtp.write(Buffer.from(`From: a@example.com\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n${content()}`))
    await smtp.say('.')
    smtp.socket.destroy()
    return messageIn(target, { inboxId: id, subject })
  })

/** The id of a mail that is on its way, when it is filed. */
export async function messageIn(
  { url, bearer }: Pick<Target, 'url' | 'bearer'>,
  { inboxId, subject }: { inboxId: string; subject: string },
): Promise<string> {
  for (;;) {
    const headers = { authorization: `Bearer ${bearer}` }
    const reply = await fetch(`${url}/v1/inboxes/${inboxId}/messages?limit=20`, { headers })
    const { messages } = (await reply.json()) as { messages: { id: string; subject: string }[] }
    const found = messages.find(message => message.subject === subject)
    if (found) return found.id
    await delay(50)
  }
}

const LINES_AND_HTML = filed(
  () =>
    'Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n' +
    `x${'\r\n'.repeat(1_000_000)}\r\n--b\r\nContent-Type: text/html\r\n\r\n` +
    `${'<p>Some words of a paragraph.</p>\r\n'.repeat(110_000)}--b--\r\n`,
)

/** An inbox whose policy asks for everything that leaves to be read. */
const INSPECTED = once(async ({ url, bearer, inboxes }) => {
  const { id } = inboxes[1]!
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ policy: { dlp: 'observe' } })
  await (await fetch(`${url}/v1/inboxes/${id}`, { method: 'PATCH', headers, body })).arrayBuffer()
  return id
})

const composing = (fields: object) => {
  const body = JSON.stringify({ to: ['someone@example.com'], subject: 'x', ...fields })
  return async (target: Target): Promise<void> => post(target, `/v1/inboxes/${await INSPECTED(target)}/messages`, body)
}

/** A few kilobytes that take seconds to read: a page of very many words. */
const slowFiles = (count: number): { filename: string; content: string }[] => {
  const page = '(some words) Tj 0 -12 Td '.repeat(100_000)
  const content = aPdf([`x) Tj ${page}(x`], { pack: deflated }).toString('base64')
  return Array.from({ length: count }, (_, n) => ({ filename: `${n}.pdf`, content }))
}

const padding = { filename: 'x.bin', content: Buffer.alloc(300 * 1024, 7).toString('base64') }

/** What is attached is made in the thread that attacks. */
const lazily = (make: () => Plan['act']): Plan['act'] => {
  let act: Plan['act'] | null = null
  return target => (act ??= make())(target)
}

export const MAILBOX_ATTACKS: Record<string, Plan> = {
  'composed mail of 9,000 different words, 100 at once': { atOnce: 100, act: compose },
  'replies that quote a million lines and 4 MB of HTML, 100 at once': {
    atOnce: 100,
    act: async target => post(target, `/v1/inbox-messages/${await LINES_AND_HTML(target)}/reply`, '{}'),
  },
  'composed mail with 20 slow files, inspected, 20 at once': {
    atOnce: 20,
    act: lazily(() => composing({ text: 'x', attachments: slowFiles(20) })),
  },
  'composed mail over 256 KB with 20 slow files, inspected, 20 at once': {
    atOnce: 20,
    act: lazily(() => composing({ text: 'x', attachments: [...slowFiles(20), padding] })),
  },
  'composed mail with 200 KB of HTML, inspected, 200 at once': {
    atOnce: 200,
    act: lazily(() => composing({ html: '<div><b>4111 1111 </b>'.repeat(9_000) })),
  },
  'MX: mail of 20,000 different words to 100 inboxes, 4 at once': { atOnce: 4, act: mailMany },
  'searches of an inbox, 50 at once': { atOnce: 50, act: search },
}
