// One account attacks, another sends one mail at a time: the second must not notice.
import { setTimeout as delay } from 'node:timers/promises'
import { ATTACKS, startAttack, type Target, type TenantFields } from './support/attacks.ts'
import { MAILBOX_ATTACKS, messageIn } from './support/mailbox-attacks.ts'
import { apiFetch } from './support/post-load.ts'
import { heading, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { residentMegabytes, startServer, type BenchServer } from './support/server.ts'
import { rawSmtp, startNotingSink } from './support/smtp-raw.ts'

const P99_MS_MAX = 250
const MEGABYTES_MAX = 600
const ATTACK_MS = 10_000
/** Between two mails of the victim: it sends one at a time, not as fast as it can. */
const THINKING_MS = 20
/** Before the victim is measured: the attack is to be under way. */
const WARM_UP_MS = 1_500

export async function benchNeighbours(): Promise<void> {
  heading(
    `Neighbours: one account attacks for ${ATTACK_MS / 1000} s for each act of another that sends one mail at a time`,
  )
  const sink = await startNotingSink()
  const [smtpPort, mxPort] = [await freePort(), await freePort()]
  const server = await startServer({
    LOG_LEVEL: 'error',
    SMTP_PORT: String(smtpPort),
    MX_PORT: String(mxPort),
    SMTP_ROUTES: `*=127.0.0.1:${sink.port}`,
    MX_RATE_PER_MINUTE: '100000',
  })
  const victim = await aSender(server, 'victim')
  const hostile = await aSender(server, 'hostile')
  await hostile.withoutRecipientLimit()
  const login = await apiFetch(server, `/v1/tenants/${hostile.tenantId}/smtp-credentials`, {}, hostile.bearer)
  await send(server, hostile)
  while (sink.returnPaths.length === 0) await delay(20)
  const target: Target = {
    url: server.url,
    smtpPort,
    mxPort,
    bearer: hostile.bearer,
    tenantId: hostile.tenantId,
    limited: await aTenantOf(server, hostile, {
      name: 'limited',
      rate_per_minute: 1_000_000_000,
      max_recipients_per_message: 1_000_000,
    }),
    small: await aTenantOf(server, hostile, { name: 'small' }),
    from: hostile.from,
    login: login.body,
    returnPath: sink.returnPaths[0]!,
    inboxes: await inboxesOf(server, hostile, 100),
    foreignPrefix: victim.bearer.split('_')[1]!,
  }
  for (let n = 0; n < 200; n++) await send(server, victim)
  await pauseManyTags(server, hostile)
  const acts = await actsOf(server, victim, mxPort)
  for (let n = 0; n < 20; n++) for (const act of [acts.compose, acts.forward]) await act()
  for (const name of wantedAttacks()) await measure(server, { name, target, acts })
  await server.stop()
  sink.close()
}

/** `NEIGHBOURS='40 MB|lists'` measures the attacks with one of these in their name. */
const wantedAttacks = (): string[] => {
  const words = (process.env['NEIGHBOURS'] ?? '').split('|')
  return Object.keys(ATTACKS).filter(name => words.some(word => name.includes(word)))
}

interface Sender {
  bearer: string
  tenantId: string
  domainId: string
  from: string
  withoutRecipientLimit(): Promise<void>
}

/** An account of its own that sends real mail from a name of the platform. */
async function aSender(server: BenchServer, name: string): Promise<Sender> {
  const account = await apiFetch(server, '/admin/v1/accounts', { name })
  const bearer: string = account.body.api_key.secret
  const tenant = await apiFetch(server, '/v1/tenants', { external_id: name, name }, bearer)
  const domain = `${name}.sluice.test`
  const { body } = await apiFetch(server, `/v1/tenants/${tenant.body.id}/domains`, { name: domain }, bearer)
  return {
    bearer,
    tenantId: tenant.body.id,
    domainId: body.id,
    from: `hello@${domain}`,
    withoutRecipientLimit: async () => {
      await fetch(`${server.url}/v1/tenants/${tenant.body.id}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: JSON.stringify({ max_recipients_per_message: 1_000_000 }),
      })
    },
  }
}

/** Another tenant of an account, which sends from a domain of its own. */
async function aTenantOf(
  server: BenchServer,
  { bearer }: Sender,
  fields: { name: string } & Record<string, unknown>,
): Promise<TenantFields> {
  const { body } = await apiFetch(server, '/v1/tenants', { external_id: fields.name, ...fields }, bearer)
  const domain = `${fields.name}.sluice.test`
  await apiFetch(server, `/v1/tenants/${body.id}/domains`, { name: domain }, bearer)
  return { tenant_id: body.id, from: `hello@${domain}` }
}

async function inboxesOf(server: BenchServer, { bearer, tenantId, domainId }: Sender, count: number) {
  await apiFetch(server, `/v1/domains/${domainId}/inbound`, { enabled: true }, bearer)
  const inboxes: Target['inboxes'] = []
  for (let n = 0; n < count; n++) {
    const wanted = { domain_id: domainId, local_part: `in-${n}` }
    inboxes.push((await apiFetch(server, `/v1/tenants/${tenantId}/inboxes`, wanted, bearer)).body)
  }
  return inboxes
}

/** As many as an account may have, none of which stops anything. */
async function pauseManyTags(server: BenchServer, { bearer }: Sender): Promise<void> {
  for (let n = 0; n < 1_000; n++) {
    const scope = { scope_type: 'rule', scope_value: `tag:never-${n}` }
    await apiFetch(server, '/v1/suspensions', scope, bearer)
  }
}

const send = ({ url }: BenchServer, { bearer, tenantId, from }: Sender): Promise<number> =>
  post(`${url}/v1/messages`, bearer, {
    tenant_id: tenantId,
    from,
    to: ['someone@example.net'],
    subject: 'Hello',
    text: 'Hello',
  })

async function post(url: string, bearer: string, body: object): Promise<number> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  await reply.arrayBuffer()
  return reply.status
}

/** What the victim does, one after the other, by how the table calls it. */
type Acts = Record<'send' | 'compose' | 'forward', () => Promise<number>>

async function actsOf(server: BenchServer, victim: Sender, mxPort: number): Promise<Acts> {
  const { url } = server
  const { bearer } = victim
  const [inbox] = await inboxesOf(server, victim, 1)
  const subject = 'To be forwarded'
  const smtp = await rawSmtp(mxPort)
  await smtp.reply()
  for (const line of ['EHLO friend.example', 'MAIL FROM:<a@example.com>', `RCPT TO:<${inbox!.address}>`, 'DATA']) {
    await smtp.say(line)
  }
  await smtp.say(`From: a@example.com\r\nSubject: ${subject}\r\n\r\nOne line.\r\n.`)
  smtp.socket.destroy()
  const originalId = await messageIn({ url, bearer }, { inboxId: inbox!.id, subject })
  const to = ['someone@example.net']
  const html = '<p>Hello <b>there</b></p>'
  return {
    send: () => send(server, victim),
    compose: () => post(`${url}/v1/inboxes/${inbox!.id}/messages`, bearer, { to, subject: 'Hello', html }),
    forward: () => post(`${url}/v1/inbox-messages/${originalId}/forward`, bearer, { to }),
  }
}

interface Measured {
  name: string
  target: Target
  acts: Acts
}

async function measure(server: BenchServer, { name, target, acts }: Measured): Promise<void> {
  const attack = startAttack(name, target)
  await delay(WARM_UP_MS)
  const names = name in MAILBOX_ATTACKS ? (['send', 'compose', 'forward'] as const) : (['send'] as const)
  const taken = names.map(each => ({ each, latencies: [] as number[], failures: 0 }))
  let megabytes = 0
  const until = performance.now() + ATTACK_MS * names.length
  while (performance.now() < until) {
    for (const one of taken) {
      const began = performance.now()
      const status = await acts[one.each]().catch(() => 0)
      one.latencies.push(performance.now() - began)
      if (status !== 202) one.failures += 1
      await delay(THINKING_MS)
    }
    megabytes = Math.max(megabytes, await residentMegabytes(server.pid))
  }
  const made = await attack.stop()
  for (const { each, latencies, failures } of taken) {
    const sorted = latencies.toSorted((a, b) => a - b)
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
    report({
      name: each === 'send' ? name : `… and the other ${each}s`,
      value: `p50 ${at(0.5).toFixed(0)} p99 ${at(0.99).toFixed(0)} ms, ${failures} failed, ${megabytes.toFixed(0)} MB, ${made < 0 ? 'attack had not ended' : `${made} acts`}`,
      target: `p99 <= ${P99_MS_MAX} ms, 0 failed, <= ${MEGABYTES_MAX} MB`,
      isMet: at(0.99) <= P99_MS_MAX && failures === 0 && megabytes <= MEGABYTES_MAX,
    })
  }
  // What the attack has left behind must not be counted against the next one. One that had not ended by itself left requests
  // that the server goes on with.
  await delay(made < 0 ? 20_000 : 1_000)
}
