// Receiving: signed mails of 4 KB over the MX port until they are filed, against Postfix that delivers the same mails to
// Maildirs and verifies nothing. Then how long a lone mail takes from its 250 until it can be read.
import { createPrivateKey, sign as signSync } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { aDnsServer } from '../src/platform/net/dns.fixture.ts'
import { generateDkimKey, dkimRecord, signDkim } from '../src/mail/dkim/sign.ts'
import { hasPostfix, startMaildirPostfix, type Postfix } from '../test/support/programs/postfix.ts'
import { benchLargeMail } from './large-mail.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, median, percentile, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { residentMegabytes, startServer, type BenchServer } from './support/server.ts'
import { smtpLoad, type SmtpLoad } from './support/smtp-load.ts'

const ROUNDS = 3
const CONNECTIONS = 32
const MESSAGES = 1_500
const INBOXES = 50
const LONE = 100
/** Asking costs the server a few milliseconds, which are not the mail's. */
const POLL_MS = 100
const SENDER = 'sender.test'

export async function benchReceive(): Promise<void> {
  heading(`Receiving: ${count(MESSAGES)} signed mails of 4 KB over ${CONNECTIONS} connections (medians of ${ROUNDS})`)
  if (!hasPostfix()) return
  const key = await generateDkimKey()
  const dns = await aDnsServer()
  dns.txt(SENDER, 'v=spf1 ip4:127.0.0.1 -all')
  dns.txt(`bench._domainkey.${SENDER}`, dkimRecord(key.publicKeyBase64))
  dns.txt(`_dmarc.${SENDER}`, 'v=DMARC1; p=reject')
  const port = await freePort()
  const settings = { MX_PORT: String(port), DNS_SERVERS: dns.address, MX_RATE_PER_MINUTE: '10000000' }
  const server = await startServer(settings)
  const { domain, bearer, inboxIds } = await inboxesOf(server)
  const postfix = await startMaildirPostfix(
    domain,
    Array.from({ length: INBOXES }, (_, n) => `u${n}`),
  )
  const mails = await signedMails(domain, key.privateKeyPem)
  const load = { login: null, connections: CONNECTIONS, messages: MESSAGES, mails }
  const rounds: { theirs: Rates; ours: Rates }[] = []
  let megabytes = 0
  // The first round is not counted, as in the sending bench.
  for (let n = 0; n <= ROUNDS; n++) {
    const theirs = await round({ ...load, port: postfix.port }, until(postfix))
    const ours = await round({ ...load, port }, async () => {
      megabytes = Math.max(megabytes, await residentMegabytes(server.pid))
      return (await filed(server)) >= (n + 1) * MESSAGES
    })
    if (n > 0) rounds.push({ theirs, ours })
  }
  await postfix.stop()
  const to = `u0@${domain}`
  const times = await loneMails(server, { port, bearer, inboxId: inboxIds[0]!, to })
  print(rounds, times, megabytes)
  const send = (content: string): Promise<void> => sendOne(port, to, content)
  await benchLargeMail({ server, bearer, to, send, filed: () => filed(server) })
  await server.stop()
  await dns.close()
}

interface Rates {
  accepted: number
  filed: number
}

function print(rounds: readonly { theirs: Rates; ours: Rates }[], times: readonly number[], megabytes: number): void {
  const of = (pick: (each: (typeof rounds)[number]) => number): number => median(rounds.map(pick))
  report({ name: 'Postfix accepts, mails/s', value: count(of(each => each.theirs.accepted)) })
  report({ name: 'Postfix delivers to Maildirs, mails/s', value: count(of(each => each.theirs.filed)) })
  report({ name: 'Sluice accepts, mails/s', value: count(of(each => each.ours.accepted)) })
  report({ name: 'Sluice files, verified and indexed, mails/s', value: count(of(each => each.ours.filed)) })
  const accepted = of(each => each.ours.accepted / each.theirs.accepted)
  report({ name: 'accepted, ratio', value: accepted.toFixed(2), target: '>= 1', isMet: accepted >= 1 })
  const ratio = of(each => each.ours.filed / each.theirs.filed)
  report({ name: 'filed, ratio', value: ratio.toFixed(2), target: '>= 0.6', isMet: ratio >= 0.6 })
  report({ name: 'server while receiving, MB', value: megabytes.toFixed(0), target: '<= 450', isMet: megabytes <= 450 })
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
  report({ name: 'from 250 to visible, p50 ms', value: p50.toFixed(0), target: '<= 60', isMet: p50 <= 60 })
  report({ name: 'from 250 to visible, p99 ms', value: p99.toFixed(0), target: '<= 300', isMet: p99 <= 300 })
}

/** Accepted: until the last 250. Filed: until the last mail is where it belongs. */
async function round(load: SmtpLoad, isDone: () => Promise<boolean>): Promise<Rates> {
  const began = performance.now()
  const seconds = await smtpLoad(load)
  while (!(await isDone())) await delay(POLL_MS)
  return { accepted: load.messages / seconds, filed: load.messages / ((performance.now() - began) / 1000) }
}

const until =
  (postfix: Postfix): (() => Promise<boolean>) =>
  () =>
    postfix.isQueueEmpty()

/** Since the server began. */
export async function filed(server: BenchServer): Promise<number> {
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  return Number(/sluice_arrivals_total\{outcome="filed"\} (\d+)/.exec(metrics)?.[1] ?? 0)
}

async function inboxesOf(server: BenchServer): Promise<{ domain: string; bearer: string; inboxIds: string[] }> {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Bench' })
  const bearer: string = created.api_key.secret
  const { body: tenant } = await apiFetch(server, '/v1/tenants', { external_id: 'bench', name: 'Bench' }, bearer)
  const domain = 'receive.sluice.test'
  const { body } = await apiFetch(server, `/v1/tenants/${tenant.id}/domains`, { name: domain }, bearer)
  await apiFetch(server, `/v1/domains/${body.id}/inbound`, { enabled: true }, bearer)
  const inboxIds: string[] = []
  for (let n = 0; n < INBOXES; n++) {
    const wanted = { domain_id: body.id, local_part: `u${n}` }
    const { body: inbox } = await apiFetch(server, `/v1/tenants/${tenant.id}/inboxes`, wanted, bearer)
    inboxIds.push(inbox.id)
  }
  return { domain, bearer, inboxIds }
}

async function signedMails(domain: string, privateKeyPem: string): Promise<SmtpLoad['mails']> {
  const key = createPrivateKey(privateKeyPem)
  const mails: { from: string; to: string; content: string }[] = []
  for (let n = 0; n < MESSAGES; n++) {
    const to = `u${n % INBOXES}@${domain}`
    const source = Buffer.from(`${mailOf(n, to)}\r\n`)
    const signing = { domain: SENDER, selector: 'bench', key, now: new Date() }
    const signature = await signDkim({ source, ...signing, sign: async data => signSync('sha256', data, key) })
    mails.push({ from: `a@${SENDER}`, to, content: signature + source.toString().replace(/\r\n$/, '') })
  }
  return mails
}

function mailOf(n: number, to: string): string {
  const words = Array.from(
    { length: 55 },
    (_, line) => `Line ${line} of mail ${n} speaks of matter ${(n * 7919 + line) % 5000} and ends.`,
  )
  return [
    `From: Ann <a@${SENDER}>`,
    `To: ${to}`,
    `Subject: Matter ${n}`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <bench-${n}-${process.pid}@${SENDER}>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    ...words,
  ].join('\r\n')
}

/** One at a time: each is asked for until it is there. */
async function loneMails(
  server: BenchServer,
  { port, bearer, inboxId, to }: { port: number; bearer: string; inboxId: string; to: string },
): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < LONE; n++) {
    const id = `<lone-${n}-${process.pid}@${SENDER}>`
    await sendOne(
      port,
      to,
      `From: a@${SENDER}\r\nTo: ${to}\r\nSubject: lone ${n}\r\nMessage-ID: ${id}\r\n\r\nHello.\r\n`,
    )
    const began = performance.now()
    for (;;) {
      const reply = await fetch(`${server.url}/v1/inboxes/${inboxId}/messages?limit=1`, {
        headers: { authorization: `Bearer ${bearer}` },
      })
      const { messages } = (await reply.json()) as { messages: { rfc_message_id: string }[] }
      if (messages[0]?.rfc_message_id === id) break
      await delay(2)
    }
    times.push(performance.now() - began)
    await delay(20)
  }
  return times
}

async function sendOne(port: number, to: string, content: string): Promise<void> {
  const said = [
    'EHLO bench.test\r\n',
    `MAIL FROM:<a@${SENDER}>\r\nRCPT TO:<${to}>\r\nDATA\r\n`,
    `${content}.\r\n`,
    'QUIT\r\n',
  ]
  const codes = ['220 ', '250 ', '354 ', '250 ']
  const socket = connect(port, '127.0.0.1')
  socket.setEncoding('latin1')
  let text = ''
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('data', chunk => {
      text += String(chunk)
      if (/^[45]\d\d /m.test(text)) return reject(new Error(text))
      if (!text.includes(codes[0]!)) return
      text = ''
      codes.shift()
      const say = said.shift()!
      socket.write(say)
      if (say.startsWith('QUIT')) resolve()
    })
  })
  socket.end()
}
