// Sending from a mailbox beside sending a message: the same text to the same recipients, in the same run. The mailbox files
// the mail in a thread besides, in the transaction that accepts it.
import { cpuMilliseconds } from './support/cpu.ts'
import { apiFetch, httpPostLoad, type PostLoad } from './support/post-load.ts'
import { count, heading, median, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const ROUNDS = 3
const CONNECTIONS = 64
const REQUESTS = 3_000
const TEXT = `${'abcdefghi '.repeat(7)}\n`.repeat(55)

export async function benchCompose(): Promise<void> {
  heading(`composing: ${count(REQUESTS)} mails of 4 KB over ${CONNECTIONS} connections (medians of ${ROUNDS})`)
  // Without workers: both leave the same work behind, and neither is to be measured while that is done.
  const server = await startServer({ ROLES: 'api' })
  const { bearer, tenantId, inboxIds } = await aMailbox(server)
  const mail = { to: ['someone@example.com'], subject: 'Offer %n', text: TEXT }
  const common = { bearer, connections: CONNECTIONS, requests: REQUESTS }
  const rounds: { composed: Round; sent: Round }[] = []
  // The first round is not counted: code is compiled and pages are allocated in it.
  for (let n = 0; n <= ROUNDS; n++) {
    const message = { ...mail, tenant_id: tenantId, from: 'a@bench.sluice.test' }
    const sent = await round(server, { ...common, url: `${server.url}/v1/messages`, body: message })
    const urls = inboxIds.map(id => `${server.url}/v1/inboxes/${id}/messages`)
    const composed = await round(server, { ...common, url: urls[0]!, urls, body: mail })
    if (n > 0) rounds.push({ composed, sent })
  }
  await server.stop()
  for (const kind of ['sent', 'composed'] as const) {
    report({ name: `${kind}, mails/s`, value: count(median(rounds.map(each => each[kind].rate))) })
    report({ name: `${kind}, ms of CPU each`, value: median(rounds.map(each => each[kind].cpuMs)).toFixed(2) })
  }
  const ratio = median(rounds.map(each => each.composed.rate / each.sent.rate))
  report({ name: 'composing, ratio', value: ratio.toFixed(2), target: '>= 0.8', isMet: ratio >= 0.8 })
}

interface Round {
  rate: number
  /** Of the server and its database. */
  cpuMs: number
}

async function round(server: BenchServer, load: PostLoad): Promise<Round> {
  const before = cpuMilliseconds(server)
  const seconds = await httpPostLoad(load)
  return { rate: load.requests / seconds, cpuMs: (cpuMilliseconds(server) - before) / load.requests }
}

const INBOXES = 20

async function aMailbox(server: BenchServer): Promise<{ bearer: string; tenantId: string; inboxIds: string[] }> {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Bench', sandbox: true })
  const bearer: string = created.api_key.secret
  const { body: tenant } = await apiFetch(server, '/v1/tenants', { external_id: 'bench', name: 'Bench' }, bearer)
  const domains = `/v1/tenants/${tenant.id}/domains`
  const { body: domain } = await apiFetch(server, domains, { name: 'bench.sluice.test' }, bearer)
  await apiFetch(server, `/v1/domains/${domain.id}/inbound`, { enabled: true }, bearer)
  const inboxIds: string[] = []
  for (let n = 0; n < INBOXES; n++) {
    const body = { domain_id: domain.id, local_part: `bench-${n}` }
    inboxIds.push((await apiFetch(server, `/v1/tenants/${tenant.id}/inboxes`, body, bearer)).body.id)
  }
  return { bearer, tenantId: tenant.id, inboxIds }
}
