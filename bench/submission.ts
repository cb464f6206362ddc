// Acceptance over SMTP: ours with AUTH, Postfix without, the same client and the same kind of sink behind both.
import { setTimeout as delay } from 'node:timers/promises'
import { hasPostfix, startPostfix, startSink } from '../test/support/programs/postfix.ts'
import { apiFetch } from './support/post-load.ts'
import { count, heading, median, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { startServer, type BenchServer } from './support/server.ts'
import { smtpLoad, type SmtpLoad } from './support/smtp-load.ts'

const ROUNDS = 3
const CONNECTIONS = 64
const MESSAGES = 3_000
const CONTENT = `From: a@bench.sluice.test\r\nTo: u@sink.test\r\nSubject: bench\r\n\r\n${`${'abcdefghi '.repeat(7)}\r\n`.repeat(55)}`

export async function benchSubmission(): Promise<void> {
  heading(
    `SMTP submission: ${count(MESSAGES)} messages of 4 KB over ${CONNECTIONS} kept-open connections (medians of ${ROUNDS})`,
  )
  if (!hasPostfix()) return
  const sink = await startSink()
  const postfix = await startPostfix(sink.port)
  const port = await freePort()
  const server = await startServer({ SMTP_ROUTES: `*=127.0.0.1:${sink.port}`, SMTP_PORT: String(port) })
  const login = await aCredential(server)
  const mails = [{ from: 'a@bench.sluice.test', to: 'u@sink.test', content: CONTENT }]
  const common = { connections: CONNECTIONS, mails }
  const ours = (): Promise<number> => round({ ...common, port, login, messages: MESSAGES }, sink)
  const rounds: { ours: number; theirs: number }[] = []
  // The first round is not counted, as in the sending bench.
  for (let n = 0; n <= ROUNDS; n++) {
    const theirs = await round({ ...common, port: postfix.port, login: null, messages: MESSAGES }, sink)
    const each = { theirs, ours: await ours() }
    if (n > 0) rounds.push(each)
  }
  await server.stop()
  await postfix.stop()
  await sink.stop()
  report({ name: 'Postfix accepts over SMTP, messages/s', value: count(median(rounds.map(each => each.theirs))) })
  report({
    name: 'Sluice accepts over SMTP with AUTH, messages/s',
    value: count(median(rounds.map(each => each.ours))),
  })
  const ratio = median(rounds.map(each => each.ours / each.theirs))
  report({ name: 'submission, ratio', value: ratio.toFixed(2), target: '>= 1.5', isMet: ratio >= 1.5 })
}

/** Both deliver meanwhile; the next round begins when all has arrived. */
async function round(load: SmtpLoad, sink: { count(): number }): Promise<number> {
  const before = sink.count()
  const seconds = await smtpLoad(load)
  while (sink.count() - before < load.messages) await delay(20)
  return load.messages / seconds
}

async function aCredential(server: BenchServer): Promise<{ username: string; password: string }> {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Bench' })
  const bearer: string = created.api_key.secret
  const { body: tenant } = await apiFetch(server, '/v1/tenants', { external_id: 'bench', name: 'Bench' }, bearer)
  await apiFetch(server, `/v1/tenants/${tenant.id}/domains`, { name: 'bench.sluice.test' }, bearer)
  const { body } = await apiFetch(server, `/v1/tenants/${tenant.id}/smtp-credentials`, {}, bearer)
  return { username: body.username, password: body.password }
}
