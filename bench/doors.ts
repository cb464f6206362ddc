// Mail that tells an agent what to do, of a collection that is not part of this project, received as mail from outside: the
// agent obeys each through every door of its mailbox. What leaves without an approval is counted.
import { setTimeout as delay } from 'node:timers/promises'
import { aDnsServer } from '../src/platform/net/dns.fixture.ts'
import { tryDoors } from '../test/support/doors.ts'
import { databaseClient } from './latency.ts'
import { apiFetch } from './support/post-load.ts'
import { note, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { startServer, type BenchServer } from './support/server.ts'
import { smtpLoad } from './support/smtp-load.ts'

interface Mail {
  subject: string
  body: string
}

/** As many tainted mails as a new one is compared with. */
const PER_INBOX = 150
const SENDER = 'sender@remote.test'
const FILED_MS_MAX = 120_000

export async function benchDoors(mails: readonly Mail[]): Promise<void> {
  const dns = await aDnsServer()
  const port = await freePort()
  const settings = { MX_PORT: String(port), DNS_SERVERS: dns.address, MX_RATE_PER_MINUTE: '1000000' }
  const server = await startServer({ ...settings, LOG_LEVEL: 'error' })
  const client = await databaseClient(server)
  const countOf = async (text: string, ...values: unknown[]): Promise<number> =>
    (await client.query(text, values)).rows[0].count
  const mailbox = await aMailbox(server, Math.ceil(mails.length / PER_INBOX))
  let tries = 0
  for (const [n, { id, address }] of mailbox.inboxes.entries()) {
    const part = mails.slice(n * PER_INBOX, (n + 1) * PER_INBOX)
    const sources = part.map((mail, at) => ({ from: SENDER, to: address, content: sourceOf(mail, at) }))
    await smtpLoad({ port, login: null, connections: 8, messages: part.length, mails: sources })
    const filed = 'select count(*)::int as count from inbox_messages where inbox_id = $1'
    await until(async () => (await countOf(filed, id)) >= part.length)
    const { rows } = await client.query<{ id: string; subject: string }>(
      'select id, subject from inbox_messages where inbox_id = $1',
      [id],
    )
    const obeyed = rows.map(row => ({ id: row.id, text: part[Number(/^\[(\d+)\]/.exec(row.subject)![1])]!.body }))
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const post = (path: string, body: object) => apiFetch(server, path, body, mailbox.agent)
    const tried = await tryDoors({ post, inboxId: id, sendAt }, obeyed)
    tries += Object.values(tried).reduce((sum, each) => sum + each, 0)
  }
  // Due now, instead of in an hour.
  await client.query('update drafts set due_at = now() where scheduled_at is not null')
  await until(async () => (await countOf('select count(*)::int as count from drafts')) === 0)
  const left = await countOf('select count(*)::int as count from messages m where m.account_id = $1', mailbox.accountId)
  const held = await countOf(`select count(*)::int as count from approvals where status = 'pending'`)
  await client.end()
  await server.stop()
  await dns.close()
  note(`${mails.length} mails, ${tries} tries, ${held} held for approval`)
  report({ name: 'left without an approval', value: String(left), target: '0', isMet: left === 0 && held === tries })
}

async function aMailbox(server: BenchServer, count: number) {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Doors', sandbox: true })
  const bearer: string = created.api_key.secret
  const post = async (path: string, fields: object) => (await apiFetch(server, path, fields, bearer)).body
  const tenant = await post('/v1/tenants', { external_id: 'doors', name: 'Doors' })
  const domain = await post(`/v1/tenants/${tenant.id}/domains`, { name: 'doors.sluice.test' })
  await post(`/v1/domains/${domain.id}/inbound`, { enabled: true })
  const policy = { require_approval_on_taint: true }
  const inboxes: { id: string; address: string }[] = []
  for (let n = 0; n < count; n++) {
    const wanted = { domain_id: domain.id, local_part: `agent-${n}`, policy }
    inboxes.push(await post(`/v1/tenants/${tenant.id}/inboxes`, wanted))
  }
  const key = await post('/v1/api-keys', { name: 'agent', scopes: ['send', 'read'] })
  return { accountId: created.account.id as string, agent: key.secret as string, inboxes }
}

/** The number in the subject tells which it was. */
const sourceOf = ({ subject, body }: Mail, n: number): string =>
  [
    `From: Sender <${SENDER}>`,
    `Subject: =?utf-8?B?${Buffer.from(`[${n}] ${subject}`.slice(0, 40)).toString('base64')}?=`,
    `Message-ID: <${n}-${process.hrtime.bigint()}@remote.test>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(body).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
  ].join('\r\n')

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + FILED_MS_MAX
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('it takes too long')
    await delay(100)
  }
}
