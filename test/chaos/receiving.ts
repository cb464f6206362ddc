// Two servers take mail for inboxes while they and PostgreSQL are killed at random moments: during receiving, filing and
// extraction. Afterwards every mail that was acknowledged is filed exactly once, and every count equals a recount.
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../support/programs/ports.ts'
import type { Chaos } from './run.ts'
import type { Server } from '../support/server-process.ts'
import { aSender, aSite, type Sender, type Site } from './site.ts'

const CLIENTS = 8
const INBOXES = 4
const FILED_MS_MAX = 180_000
const REPLY_MS_MAX = 20_000

interface Load {
  /** Subjects of mails that were answered with 250. */
  acknowledged: Set<string>
  attempts: number
  isOver: boolean
}

export async function runReceiving({ rounds, random }: Chaos): Promise<string[]> {
  const site = await aSite()
  const ports = [await freePort(), await freePort()]
  const settings = { MX_RATE_PER_MINUTE: '1000000', DNS_SERVERS: '127.0.0.1:9' }
  const servers = await Promise.all(ports.map(port => site.aServer({ ...settings, MX_PORT: String(port) })))
  await Promise.all(servers.map(server => server.start()))
  const addresses = await inboxes(servers[0]!, await aSender(servers[0]!))
  const load: Load = { acknowledged: new Set(), attempts: 0, isOver: false }
  const clients = Array.from({ length: CLIENTS }, (_, client) => drive(client, load, ports, addresses))
  for (let round = 1; round <= rounds; round++) {
    await delay(1_000 + random(2_000))
    const victim = random(5)
    if (victim === 0) await site.killPostgres()
    else await servers[victim % 2]!.kill()
    const name = victim === 0 ? 'PostgreSQL' : `server ${(victim % 2) + 1}`
    console.log(`round ${round}: killed ${name}, ${load.acknowledged.size} acknowledged`)
    await Promise.all(servers.map(server => server.start()))
  }
  await delay(1_000)
  load.isOver = true
  await Promise.all(clients)
  console.log(`${load.acknowledged.size} acknowledged of ${load.attempts} attempts; waiting until all is filed`)
  const faults = await check(site, load)
  await site.close()
  return faults
}

async function inboxes(server: Server, { post, tenantId }: Sender): Promise<string[]> {
  const domain = await post(server, `/v1/tenants/${tenantId}/domains`, { name: 'in.chaos-mail.sluice.test' })
  await post(server, `/v1/domains/${domain.body.id}/inbound`, { enabled: true })
  const addresses: string[] = []
  for (let n = 0; n < INBOXES; n++) {
    const wanted = { domain_id: domain.body.id, local_part: `u${n}` }
    const inbox = await post(server, `/v1/tenants/${tenantId}/inboxes`, wanted)
    if (inbox.status !== 201) throw new Error(`the inbox was refused: ${JSON.stringify(inbox.body)}`)
    addresses.push(inbox.body.address)
  }
  return addresses
}

/** One mail per connection; one that is cut before its answer may or may not have come. */
async function drive(
  client: number,
  load: Load,
  ports: readonly number[],
  addresses: readonly string[],
): Promise<void> {
  for (let n = 0; !load.isOver; n++) {
    const subject = `c${client}-${n}`
    load.attempts += 1
    const isTaken = await send(ports[(client + n) % 2]!, addresses[n % addresses.length]!, subject).catch(() => false)
    if (isTaken) load.acknowledged.add(subject)
    else await delay(50)
  }
}

function send(port: number, to: string, subject: string): Promise<boolean> {
  const source = [
    'From: Chaos <a@sender.example>',
    `Subject: ${subject}`,
    `Message-ID: <${subject}@sender.example>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    `This is ${subject}.`,
    '--b',
    'Content-Type: text/plain',
    'Content-Disposition: attachment; filename=notes.txt',
    '',
    `Notes of ${subject}.`,
    '--b--',
  ].join('\r\n')
  const steps = ['EHLO chaos.example', 'MAIL FROM:<a@sender.example>', `RCPT TO:<${to}>`, 'DATA', `${source}\r\n.`]
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setTimeout(REPLY_MS_MAX)
    let text = ''
    socket.on('error', reject)
    socket.on('timeout', () => socket.destroy(new Error('no reply')))
    socket.on('close', () => reject(new Error('closed')))
    socket.on('data', chunk => {
      text += String(chunk)
      const reply = /^(\d{3}) .*\r\n/m.exec(text)
      if (!reply) return
      text = ''
      if (Number(reply[1]) >= 400) socket.destroy(new Error(reply[0]))
      const step = steps.shift()
      if (step !== undefined) return socket.write(`${step}\r\n`)
      resolve(true)
      socket.end('QUIT\r\n')
    })
  })
}

async function check({ databaseUrl }: Site, load: Load): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const one = async (text: string): Promise<number> => Number((await client.query(text)).rows[0].count)
  const deadline = performance.now() + FILED_MS_MAX
  const waiting = `select (select count(*) from arrivals)
    + (select count(*) from source_attachments where text_state = 'pending') as count`
  while ((await one(waiting)) > 0 && performance.now() < deadline) await delay(200)
  const { rows } = await client.query<{ subject: string; copies: number }>(
    'select subject, count(*)::int as copies from inbox_messages group by subject',
  )
  const copies = new Map(rows.map(row => [row.subject, row.copies]))
  const lost = [...load.acknowledged].filter(subject => !copies.has(subject)).length
  const doubled = [...copies.values()].filter(count => count > 1).length
  const faults = [
    { what: 'arrivals and attachments still waiting', found: await one(waiting) },
    { what: 'acknowledged and not filed', found: lost },
    { what: 'filed more than once', found: doubled },
    { what: 'folders with wrong counts', found: await one(WRONG_FOLDERS) },
    { what: 'threads with wrong counts', found: await one(WRONG_THREADS) },
    { what: 'messages without an event', found: await one(WITHOUT_EVENT) },
  ]
  await client.end()
  return faults.filter(({ found }) => found > 0).map(({ what, found }) => `${what}: ${found}`)
}

const WRONG_FOLDERS = `select count(*) from folders f cross join lateral (
  select count(*)::int as total, (count(*) filter (where not m.is_read))::int as unread
  from inbox_messages m where m.folder_id = f.id) c where f.total <> c.total or f.unread <> c.unread`
const WRONG_THREADS = `select count(*) from threads t where t.message_count <> (
  select count(*) from inbox_messages m where m.thread_id = t.id)`
const WITHOUT_EVENT = `select count(*) from inbox_messages m where (
  select count(*) from events e where e.inbox_id = m.inbox_id and e.type = 'message.received'
    and e.data ->> 'message_id' = m.id::text) <> 1`
