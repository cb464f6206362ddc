// Acceptance and delivery against Postfix on the same machine, in turns: 4 KB messages, 64 connections, the same kind of
// sink behind both.
import { sign } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { generateRsaKey } from '../src/mail/dkim/rsa-key.ts'
import { cpuMilliseconds } from './support/cpu.ts'
import { hasOpenDkim, startOpenDkim } from '../test/support/programs/opendkim.ts'
import { apiFetch, httpPostLoad } from './support/post-load.ts'
import {
  hasPostfix,
  smtpSource,
  startPostfix,
  startSink,
  type Postfix,
  type Sink,
} from '../test/support/programs/postfix.ts'
import { count, heading, median, note, report } from './support/report.ts'
import { residentMegabytes, startServer, type BenchServer } from './support/server.ts'

const ROUNDS = 3
const CONNECTIONS = 64
const MESSAGES = 3_000
/** Of ours, not counted: we compile while we run, and mail servers run for months. */
const WARM_UP_MESSAGES = 10_000

interface Round {
  accepted: number
  delivered: number
}

export async function benchSending(): Promise<void> {
  heading(`Sending: ${count(MESSAGES)} messages of 4 KB over ${CONNECTIONS} connections (medians of ${ROUNDS})`)
  if (!hasPostfix()) return
  const sink = await startSink()
  const postfix = await startPostfix(sink.port)
  const signing = await startSigningPostfix(sink.port)
  const server = await startServer({ SMTP_ROUTES: `*=127.0.0.1:${sink.port}` })
  const account = await aSendingAccount(server)
  const rounds: { theirs: Round; signing: Round | null; ours: Round }[] = []
  let memory = 0
  const cpu: number[] = []
  await ourRound(server, account.signed, sink, WARM_UP_MESSAGES)
  // The first round is not counted, so that both begin alike.
  for (let round = 0; round <= ROUNDS; round++) {
    const theirs = await postfixRound(postfix, MESSAGES)
    const signed = signing && (await postfixRound(signing, MESSAGES))
    const cpuBefore = cpuMilliseconds(server)
    const ours = await ourRound(server, account.signed, sink, MESSAGES)
    if (round > 0) cpu.push((cpuMilliseconds(server) - cpuBefore) / MESSAGES)
    memory = Math.max(memory, await residentMegabytes(server.pid))
    if (round > 0) rounds.push({ theirs, signing: signed, ours })
  }
  await server.stop()
  const cpuAccepted = await cpuPerAcceptance()
  await postfix.stop()
  await signing?.stop()
  await sink.stop()
  const of = (pick: (round: (typeof rounds)[number]) => number): number => median(rounds.map(pick))
  report({ name: 'Postfix accepts, messages/s', value: count(of(each => each.theirs.accepted)) })
  report({ name: 'Sluice accepts over HTTP, durable, messages/s', value: count(of(each => each.ours.accepted)) })
  ratio(
    'acceptance, ratio',
    of(each => each.ours.accepted / each.theirs.accepted),
    3,
  )
  report({ name: 'Postfix end to end without DKIM, messages/s', value: count(of(each => each.theirs.delivered)) })
  report({ name: 'Sluice end to end with DKIM, messages/s', value: count(of(each => each.ours.delivered)) })
  ratio(
    'end to end with DKIM, ratio',
    of(each => each.ours.delivered / each.theirs.delivered),
    2,
  )
  if (signing) {
    report({ name: 'Postfix with OpenDKIM end to end, messages/s', value: count(of(each => each.signing!.delivered)) })
    ratio(
      'end to end, both with DKIM, ratio',
      of(each => each.ours.delivered / each.signing!.delivered),
      3,
    )
  }
  const cpuDelivered = median(cpu) - cpuAccepted
  cpuReport('CPU per accepted message, all threads and PostgreSQL', cpuAccepted, 0.85)
  cpuReport('CPU per delivered message, signature included', cpuDelivered, 2.9)
  report({
    name: 'what the cores could sign and do nothing else, messages/s',
    value: count(await signaturesPerSecond()),
  })
  report({
    name: 'server process under load',
    value: `${memory.toFixed(0)} MB`,
    target: '<= 400 MB',
    isMet: memory <= 400,
  })
}

const ratio = (name: string, value: number, target: number): void =>
  report({ name, value: value.toFixed(2), target: `>= ${target}`, isMet: value >= target })

const cpuReport = (name: string, ms: number, target: number): void =>
  report({ name, value: `${ms.toFixed(2)} ms`, target: `<= ${target} ms`, isMet: ms <= target })

/** On a server that delivers nothing, warmed up. */
async function cpuPerAcceptance(): Promise<number> {
  const server = await startServer({ ROLES: 'api' })
  const { signed } = await aSendingAccount(server)
  await postMessages(server, signed, WARM_UP_MESSAGES)
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuMilliseconds(server)
    await postMessages(server, signed, MESSAGES)
    rounds.push((cpuMilliseconds(server) - before) / MESSAGES)
  }
  await server.stop()
  return median(rounds)
}

async function startSigningPostfix(sinkPort: number): Promise<Postfix | null> {
  if (!hasOpenDkim()) return null
  const dkim = await startOpenDkim('bench.test')
  const postfix = await startPostfix(sinkPort, dkim.port)
  return {
    ...postfix,
    stop: async () => {
      await postfix.stop()
      await dkim.stop()
    },
  }
}

/** RSA-2048 is the larger part of the work: no figure with DKIM can be above this one. */
async function signaturesPerSecond(): Promise<number> {
  const privateKey = await generateRsaKey()
  const data = Buffer.alloc(600)
  const began = performance.now()
  let signed = 0
  for (; performance.now() - began < 1_000; signed++) sign('sha256', data, privateKey)
  return (signed / ((performance.now() - began) / 1_000)) * availableParallelism()
}

async function postfixRound(postfix: Postfix, messages: number): Promise<Round> {
  const began = performance.now()
  const seconds = await smtpSource(postfix.port, { messages, sessions: CONNECTIONS })
  while (!(await postfix.isQueueEmpty())) await delay(20)
  return { accepted: messages / seconds, delivered: messages / ((performance.now() - began) / 1000) }
}

interface Sending {
  bearer: string
  tenantId: string
  from: string
}

/** An account that is no sandbox, with a verified domain: real signatures, real SMTP. */
async function aSendingAccount(server: BenchServer): Promise<{ signed: Sending }> {
  const { body: created } = await apiFetch(server, '/admin/v1/accounts', { name: 'Bench' })
  const bearer: string = created.api_key.secret
  const { body: tenant } = await apiFetch(server, '/v1/tenants', { external_id: 'bench', name: 'Bench' }, bearer)
  const domain = await apiFetch(server, `/v1/tenants/${tenant.id}/domains`, { name: 'bench.sluice.test' }, bearer)
  if (domain.status !== 201) note(`the domain was refused: ${JSON.stringify(domain.body)}`)
  return { signed: { bearer, tenantId: tenant.id, from: 'a@bench.sluice.test' } }
}

async function ourRound(server: BenchServer, sending: Sending, sink: Sink, messages: number): Promise<Round> {
  const before = sink.count()
  const began = performance.now()
  const seconds = await postMessages(server, sending, messages)
  while (sink.count() - before < messages) await delay(20)
  return { accepted: messages / seconds, delivered: messages / ((performance.now() - began) / 1000) }
}

const postMessages = (server: BenchServer, sending: Sending, messages: number): Promise<number> =>
  httpPostLoad({
    url: `${server.url}/v1/messages`,
    bearer: sending.bearer,
    connections: CONNECTIONS,
    requests: messages,
    body: {
      tenant_id: sending.tenantId,
      from: sending.from,
      to: ['u@sink.test'],
      subject: 'bench',
      text: `${'abcdefghi '.repeat(7)}\n`.repeat(55),
    },
  })
