// What a hostile customer or stranger does, from a thread of its own, until it is stopped. Each is one that once slowed,
// stopped or filled the server for everybody.
import { connect } from 'node:net'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { MAILBOX_ATTACKS } from './mailbox-attacks.ts'
import { rawSmtp, type RawSmtp } from './smtp-raw.ts'

export interface Target {
  url: string
  smtpPort: number
  mxPort: number
  /** Of the attacker's own account. */
  bearer: string
  tenantId: string
  /** Has a quota that is never reached. */
  limited: TenantFields
  /** With the number of recipients that a tenant may write to by default. */
  small: TenantFields
  from: string
  login: { username: string; password: string }
  /** A return path that the attacker was sent. */
  returnPath: string
  /** Of the attacker's own. */
  inboxes: { id: string; address: string }[]
  /** The public prefix of somebody else's key. */
  foreignPrefix: string
}

/** Of a message of another tenant of the attacker. */
export interface TenantFields {
  tenant_id: string
  from: string
}

export interface Attack {
  /** Stops it and waits until it has stopped; answers how many requests it made. */
  stop(): Promise<number>
}

export function startAttack(name: string, target: Target): Attack {
  const worker = new Worker(new URL(import.meta.url), { workerData: { name, target } })
  const done = new Promise<number>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  done.catch(() => {})
  return {
    stop: async () => {
      worker.postMessage('stop')
      const made = await Promise.race([done, delay(20_000, -1)])
      await worker.terminate()
      return made
    },
  }
}

type Act = (target: Target) => Promise<void>

const MEGABYTE = 1024 * 1024

async function post({ url, bearer }: Target, body: string | Buffer): Promise<void> {
  const reply = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: body as string,
  })
  await reply.arrayBuffer()
}

const message = ({ tenantId, from }: Target, fields: object): string =>
  JSON.stringify({ tenant_id: tenantId, from, to: ['someone@example.com'], subject: 'x', text: 'x', ...fields })

const recipients = (count: number): string[] => Array.from({ length: count }, (_, n) => `someone.${n}@example.com`)

/** A body is made once: what is measured is the server. */
function posting(make: (target: Target) => string | Buffer): Act {
  let body: string | Buffer | null = null
  return target => post(target, (body ??= make(target)))
}

/** One after the other, over all that attack at once. */
function taking(...acts: readonly Act[]): Act {
  let next = 0
  return target => acts[next++ % acts.length]!(target)
}

async function submit(target: Target, data: Buffer): Promise<void> {
  const smtp = await logIn(target)
  await smtp.say(`MAIL FROM:<${target.from}>`)
  await smtp.say('RCPT TO:<someone@example.com>')
  await smtp.say('DATA')
  for (let at = 0; at < data.length; at += MEGABYTE) await smtp.write(data.subarray(at, at + MEGABYTE))
  await smtp.write(Buffer.from('.\r\n'))
  await smtp.reply()
  smtp.socket.destroy()
}

async function logIn({ smtpPort, login }: Target): Promise<RawSmtp> {
  const smtp = await rawSmtp(smtpPort)
  await smtp.reply()
  await smtp.say('EHLO hostile.example')
  await smtp.say(`AUTH PLAIN ${Buffer.from(`\0${login.username}\0${login.password}`).toString('base64')}`)
  return smtp
}

function submitting(make: (target: Target) => Buffer): Act {
  let data: Buffer | null = null
  return target => submit(target, (data ??= make(target)))
}

const header = (from: string, type: string): string =>
  `From: ${from}\r\nTo: someone@example.com\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: ${type}\r\n\r\n`

/** Opens a request with a body that never ends, sends some of it and drips the rest. */
async function holdBody({ url, bearer }: Target, head: string, sent: Buffer): Promise<void> {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\n` +
      `Content-Type: application/json\r\n${head}\r\n\r\n`,
  )
  socket.write(sent)
  for (let n = 0; n < 100 && !socket.destroyed; n++) {
    await delay(100)
    socket.write(Buffer.alloc(200, 'x'))
  }
  socket.destroy()
}

const dsn = (recipient: string): string => {
  const block = `\r\nFinal-Recipient: rfc822; ${recipient}\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no\r\n`
  return (
    'From: MAILER-DAEMON@example.com\r\nTo: x@example.com\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n' +
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n' +
    '--b\r\nContent-Type: text/plain\r\n\r\nno\r\n' +
    `--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; example.com\r\n${block.repeat(100)}\r\n--b--\r\n`
  )
}

async function bounceMuch({ mxPort, returnPath }: Target): Promise<void> {
  const smtp = await rawSmtp(mxPort)
  await smtp.reply()
  await smtp.say('EHLO hostile.example')
  await smtp.say('MAIL FROM:<>')
  for (let n = 0; n < 100; n++) await smtp.say(`RCPT TO:<${returnPath}>`)
  await smtp.say('DATA')
  await smtp.write(Buffer.from(dsn('someone@example.com')))
  await smtp.say('.')
  smtp.socket.destroy()
}

/** Connections that say nothing. */
async function connectOnly({ smtpPort }: Target): Promise<void> {
  const sockets = Array.from({ length: 90 }, () => connect(smtpPort, '127.0.0.1').on('error', () => {}))
  await delay(2_000)
  for (const socket of sockets) socket.destroy()
}

/** Lists that read much and answer much. */
async function listMuch({ url, bearer }: Target): Promise<void> {
  for (const path of ['/v1/events?limit=500', '/v1/messages?limit=500', '/v1/metrics?step=60', '/v1/audit?limit=500']) {
    const reply = await fetch(url + path, { headers: { authorization: `Bearer ${bearer}` } })
    await reply.arrayBuffer()
  }
}

async function guessSecret({ url, foreignPrefix }: Target): Promise<void> {
  const authorization = `Bearer svc_${foreignPrefix}_${'x'.repeat(43)}`
  const reply = await fetch(`${url}/v1/tenants`, { headers: { authorization } })
  await reply.arrayBuffer()
}

export interface Plan {
  act: Act
  /** How many at once. */
  atOnce: number
}

/** By name, in the order in which they are told. */
export const ATTACKS: Record<string, Plan> = {
  'nobody attacks': { atOnce: 0, act: async () => {} },
  '56 connections that send mail': { atOnce: 56, act: posting(target => message(target, {})) },
  '100,000 Bcc recipients, 4 at once': {
    atOnce: 4,
    act: posting(target => message(target, { bcc: recipients(100_000) })),
  },
  '300,000 recipients, 4 at once': {
    atOnce: 4,
    act: posting(target => message(target, { to: recipients(150_000), cc: recipients(150_000) })),
  },
  '1,000 recipients, 200 at once': {
    atOnce: 200,
    act: posting(target => message(target, { to: recipients(1_000) })),
  },
  '10,000 recipients, 8 at once': {
    atOnce: 8,
    act: posting(target => message(target, { to: recipients(10_000) })),
  },
  '10,000 recipients and small mail of a tenant with a quota, 24 at once': {
    atOnce: 24,
    act: taking(
      posting(target => message(target, { ...target.limited, to: recipients(10_000) })),
      // Most of them small: each meets the counters that the large ones keep locked.
      ...Array.from({ length: 5 }, () => posting(target => message(target, { ...target.limited }))),
    ),
  },
  '10,000 recipients where 1,000 are allowed, 8 at once': {
    atOnce: 8,
    act: posting(target => message(target, { ...target.small, to: recipients(10_000) })),
  },
  '1,000 content ids and 10 MiB of HTML, 4 at once': {
    atOnce: 4,
    act: posting(target =>
      message(target, {
        html: 'c'.repeat(10 * MEGABYTE - 1),
        attachments: Array.from({ length: 1_000 }, (_, n) => ({
          content: 'eA==',
          filename: 'x',
          content_id: `file-${n}`,
        })),
      }),
    ),
  },
  '40 MB of empty objects, 4 at once': {
    atOnce: 4,
    act: posting(() => Buffer.from(`{"x":[${'{},'.repeat(13 * MEGABYTE)}{}]}`)),
  },
  'attachments of 25 MB, 8 at once': {
    atOnce: 8,
    act: posting(target =>
      message(target, { attachments: [{ content: Buffer.alloc(25 * MEGABYTE, 7).toString('base64') }] }),
    ),
  },
  'bodies announced and not sent, 100 at once': {
    atOnce: 100,
    act: target => holdBody(target, `Content-Length: ${40 * MEGABYTE}`, Buffer.from('{"text":"')),
  },
  'bodies of 20 MB that never end, 12 at once': {
    atOnce: 12,
    act: target => holdBody(target, `Content-Length: ${40 * MEGABYTE}`, Buffer.alloc(20 * MEGABYTE, 'x')),
  },
  'SMTP: 34 MB of doubled dots, 3 at once': {
    atOnce: 3,
    act: submitting(({ from }) => Buffer.from(header(from, 'text/plain') + '..\r\n'.repeat(8_900_000))),
  },
  'SMTP: 9,900 parts without blank lines, 3 at once': {
    atOnce: 3,
    act: submitting(({ from }) =>
      Buffer.from(
        header(from, 'multipart/mixed; boundary=b') +
          `\r\n--b\r\nContent-Type: image/png\r\nX-A: ${'x'.repeat(950)}\r\n ${'x'.repeat(950)}\r\n ${'x'.repeat(950)}`.repeat(
            9_900,
          ) +
          '\r\n--b--\r\n',
      ),
    ),
  },
  'SMTP: connections that say nothing, 90 at once': { atOnce: 1, act: connectOnly },
  'bounces of 100 reports to 100 recipients, 4 at once': { atOnce: 4, act: bounceMuch },
  'lists of 500, 100 at once': { atOnce: 100, act: listMuch },
  'wrong secrets under a known prefix, 32 at once': { atOnce: 32, act: guessSecret },
  ...MAILBOX_ATTACKS,
}

if (!isMainThread && parentPort) {
  // This thread alone: what an attacker computes is another machine's, and the server is to have this one.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const { name, target } = workerData as { name: string; target: Target }
  let isStopped = false
  parentPort.once('message', () => (isStopped = true))
  const { act, atOnce } = ATTACKS[name]!
  let made = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!isStopped) {
        // The server may refuse, throttle or hang up: that is its right.
        await act(target).catch(() => delay(20))
        made += 1
      }
    }),
  )
  parentPort.postMessage(made)
}
