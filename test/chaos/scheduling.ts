// Two servers, one of which is killed in the second in which drafts fall due, and again while approvals are given. Afterwards
// every mail has left once: not early, not twice, none lost; and none whose schedule was cancelled in time.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Server } from '../support/server-process.ts'
import type { TestSink } from '../support/sink.ts'
import type { Chaos } from './run.ts'
import { aSender, aSite, posting, type Sender } from './site.ts'

const DRAFTS = 400
const APPROVALS = 60
const INBOXES = 4
/** Of every so many drafts one is cancelled in the second in which it falls due. */
const CANCELLED_EVERY = 10
/** Until the drafts are due. */
const LEAD_MS = 1_000
const SENT_MS_MAX = 90_000
const TRIES_MAX = 10
/** Longer than this no query may take. */
const BLOCKED_MS_MAX = 5_000

export async function runScheduling({ rounds, random }: Chaos): Promise<string[]> {
  const site = await aSite()
  const servers = [await site.aServer(), await site.aServer()] as const
  await Promise.all(servers.map(server => server.start()))
  const stage = await aStage({ servers, databaseUrl: site.databaseUrl, sink: site.sink })
  const faults: string[] = []
  for (let round = 1; round <= rounds; round++) {
    const victim = random(2)
    const [dueMs, approvedMs] = [random(800), random(120)]
    console.log(`round ${round}: server ${victim + 1}, ${dueMs} ms after the due time, ${approvedMs} ms into approving`)
    const isBlocked = round % 2 === 0
    const draftsPlan = { drafts: DRAFTS, victim, killAfterMs: dueMs, isBlocked }
    const draftFaults = await killAsDraftsFallDue(stage, draftsPlan)
    await servers[victim]!.start()
    const plan = { approvals: APPROVALS, victim, killAfterMs: approvedMs, isBlocked }
    const approvalFaults = await killAsApprovalsAreGiven(stage, plan)
    await servers[victim]!.start()
    faults.push(...[...draftFaults, ...approvalFaults].map(fault => `round ${round}: ${fault}`))
  }
  await stage.close()
  await site.close()
  return faults
}

export interface Stage {
  servers: readonly [Server, Server]
  sender: Sender
  /** Of another key than the one that asks. */
  decide: Sender['post']
  inboxIds: readonly string[]
  /** Every mail out of it waits for an approval. */
  cappedInboxId: string
  sink: TestSink
  database: pg.Client
  databaseUrl: string
  /**
   * Leases of the dead server are not waited for: its drafts are claimed again at once, and mail that is accepted counts, whether
   * or not a receiver has it already.
   */
  isQuick: boolean
  close(): Promise<void>
}

export async function aStage({
  servers,
  databaseUrl,
  sink,
  isQuick = false,
}: Pick<Stage, 'servers' | 'sink' | 'databaseUrl'> & { isQuick?: boolean }): Promise<Stage> {
  const [server] = servers
  const sender = await aSender(server)
  const { post, tenantId } = sender
  const domain = await post(server, `/v1/tenants/${tenantId}/domains`, { name: 'box.sluice.test' })
  await post(server, `/v1/domains/${domain.body.id}/inbound`, { enabled: true })
  const inboxIds: string[] = []
  for (let n = 0; n <= INBOXES; n++) {
    const policy = n === INBOXES ? { max_send_per_hour: 0 } : {}
    const wanted = { domain_id: domain.body.id, local_part: `box-${n}`, policy }
    inboxIds.push((await post(server, `/v1/tenants/${tenantId}/inboxes`, wanted)).body.id)
  }
  const { body: key } = await post(server, '/v1/api-keys', { name: 'person', scopes: ['admin'] })
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  return {
    servers,
    sender,
    decide: posting(key.secret),
    inboxIds: inboxIds.slice(0, INBOXES),
    cappedInboxId: inboxIds[INBOXES]!,
    sink,
    database,
    databaseUrl,
    isQuick,
    close: () => database.end(),
  }
}

interface Killing {
  /** Which of the two servers. */
  victim: number
  killAfterMs: number
  /** The mailboxes are locked until the server is dead: it dies with everything that it began unfinished. */
  isBlocked: boolean
}

interface DraftsPlan extends Killing {
  drafts: number
}

export async function killAsDraftsFallDue(stage: Stage, plan: DraftsPlan): Promise<string[]> {
  const { servers, sender, inboxIds, database, sink, isQuick } = stage
  const other = servers[1 - plan.victim]!
  const mark = Date.now()
  const farOff = new Date(mark + 3_600_000).toISOString()
  const created = await Promise.all(
    Array.from({ length: plan.drafts }, async (_, n) => {
      const recipient = `due-${mark}-${n}@d${n % 5}.example`
      const draft = { to: [recipient], subject: `Draft ${n}`, text: 'On time.', send_at: farOff }
      const inboxId = inboxIds[n % inboxIds.length]
      const reply = await insist(() => sender.post(servers[n % 2]!, `/v1/inboxes/${inboxId}/drafts`, draft))
      if (reply.status !== 201) throw new Error(`a draft was refused: ${JSON.stringify(reply.body)}`)
      return { id: reply.body.draft.id as string, recipient }
    }),
  )
  // All at one time, however long it took to write them.
  const dueAt = new Date(Date.now() + LEAD_MS)
  const drafts = created.map(({ id }) => id)
  await database.query('update drafts set scheduled_at = $2, due_at = $2 where id = any($1::uuid[])', [drafts, dueAt])
  const unlock = plan.isBlocked ? await lockMailboxes(stage) : async () => {}
  await delay(Math.max(0, dueAt.getTime() - Date.now()))
  const begun = plan.isBlocked ? LEASED : `${ACCEPTED} where recipient like 'due-${mark}-%'`
  await untilSome(database, begun)
  const cancelling = Promise.all(
    created
      .filter((_, n) => n % CANCELLED_EVERY === 0)
      .map(async ({ id, recipient }) => {
        const reply = await sender.post(other, `/v1/drafts/${id}/cancel`, {}).catch(() => null)
        return reply?.status === 200 ? recipient : null
      }),
  )
  await delay(plan.killAfterMs)
  await servers[plan.victim]!.kill()
  if (plan.isBlocked) {
    // What the dead server had begun goes to the other one, which waits for the same locks.
    if (isQuick) await database.query(LAPSE)
    await unlock()
  }
  const cancelled = new Set((await cancelling).filter(recipient => recipient !== null))
  const wanted = created.map(({ recipient }) => recipient).filter(recipient => !cancelled.has(recipient))
  await until(async () => {
    if (isQuick) await database.query(LAPSE)
    const { rows } = await database.query('select count(*)::int as count from drafts where scheduled_at is not null')
    return rows[0].count === 0
  })
  await untilSent(stage, wanted)
  const early = await database.query(
    `select count(*)::int as count from messages m join deliveries d on d.message_id = m.id
     where d.recipient like 'due-${mark}-%' and m.created_at < $1`,
    [dueAt],
  )
  const fromDue = performance.now() - (Date.now() - dueAt.getTime())
  return [
    ...(await faultsOf(stage, wanted)),
    ...fault('cancelled and sent', [...cancelled].filter(each => copiesOf(sink, each).length > 0).length),
    ...fault('accepted early', early.rows[0].count),
    ...fault('received early', wanted.filter(each => copiesOf(sink, each).some(mail => mail.beganAt < fromDue)).length),
  ]
}

/** What is in flight at the server that lives is claimed again as well: the fence must hold. */
const LAPSE = `update drafts set due_at = scheduled_at where id in (
  select id from drafts where lease_token is not null for update skip locked)`

export async function killAsApprovalsAreGiven(
  stage: Stage,
  { approvals, victim, killAfterMs, isBlocked }: Killing & { approvals: number },
): Promise<string[]> {
  const { servers, sender, decide, cappedInboxId, database } = stage
  const mark = Date.now()
  const held = await Promise.all(
    Array.from({ length: approvals }, async (_, n) => {
      const recipient = `held-${mark}-${n}@d${n % 5}.example`
      const mail = { to: [recipient], subject: `Held ${n}`, text: 'With permission.' }
      const reply = await insist(() => sender.post(servers[n % 2]!, `/v1/inboxes/${cappedInboxId}/messages`, mail))
      if (reply.body.status !== 'held') throw new Error(`it was not held: ${JSON.stringify(reply.body)}`)
      return { id: reply.body.approval_id as string, recipient }
    }),
  )
  const approve = ({ id }: { id: string }, server: Server) =>
    decide(server, `/v1/approvals/${id}/approve`, {}).catch(() => null)
  const unlock = isBlocked ? await lockMailboxes(stage) : async () => {}
  const first = Promise.all(held.map(each => approve(each, servers[victim]!)))
  await untilSome(database, isBlocked ? WAITING_FOR_LOCKS : `${ACCEPTED} where recipient like 'held-${mark}-%'`)
  await delay(killAfterMs)
  await servers[victim]!.kill()
  const answers = await first
  const second = Promise.all(held.map(each => approve(each, servers[1 - victim]!)))
  await unlock()
  const again = await second
  const isRight = again.map((reply, n) => reply?.status === (answers[n]?.status === 200 ? 409 : reply?.status))
  const wanted = held.map(({ recipient }) => recipient)
  await untilSent(stage, wanted)
  const undecided = await database.query(
    `select count(*)::int as count from approvals where id = any($1::uuid[]) and status not in ('approved', 'sent')`,
    [held.map(({ id }) => id)],
  )
  return [
    ...(await faultsOf(stage, wanted)),
    ...fault('approvals that are still open', undecided.rows[0].count),
    ...fault('approved twice', isRight.filter(each => !each).length),
    ...fault('refused', again.filter(reply => reply?.status !== 200 && reply?.status !== 409).length),
  ]
}

const LEASED = 'select count(*)::int as count from drafts where lease_token is not null'
const ACCEPTED = 'select count(*)::int as count from deliveries'
const WAITING_FOR_LOCKS = `select count(*)::int as count from pg_stat_activity
  where wait_event_type = 'Lock' and datname = current_database()`

/** Answers what unlocks them. No server waits for longer than a query may take. */
async function lockMailboxes({ databaseUrl }: Stage): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query('select id from inboxes order by id for update')
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}

async function untilSome(database: pg.Client, counting: string): Promise<void> {
  const deadline = performance.now() + BLOCKED_MS_MAX
  while ((await database.query(counting)).rows[0].count === 0 && performance.now() < deadline) await delay(10)
}

const copiesOf = (sink: TestSink, recipient: string) =>
  sink.received.filter(({ recipients }) => recipients.includes(recipient))

const untilSent = ({ sink, isQuick }: Stage, wanted: readonly string[]): Promise<void> =>
  until(async () => {
    const there = new Set(sink.received.flatMap(({ recipients }) => recipients))
    return isQuick || wanted.every(recipient => there.has(recipient))
  })

/** A server that dies before it can record what the receiver said sends again, under the same Message-ID. */
async function faultsOf({ sink, database, isQuick }: Stage, wanted: readonly string[]): Promise<string[]> {
  const ids = wanted.map(
    recipient => new Set(copiesOf(sink, recipient).map(({ source }) => /^Message-ID: (.+)$/im.exec(source)?.[1])).size,
  )
  const { rows } = await database.query<{ copies: number }>(
    `select (select count(*) from deliveries d where d.recipient = wanted.recipient)::int as copies
     from unnest($1::text[]) as wanted (recipient)`,
    [wanted],
  )
  return [
    ...fault('never received', isQuick ? 0 : ids.filter(count => count === 0).length),
    ...fault('sent as two mails', ids.filter(count => count > 1).length),
    ...fault('lost', rows.filter(({ copies }) => copies === 0).length),
    ...fault('accepted more than once', rows.filter(({ copies }) => copies > 1).length),
  ]
}

/** While a server gets back to work it may ask callers to come again. */
async function insist<T extends { status: number }>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const reply = await call()
    if (reply.status !== 503 || tries === TRIES_MAX) return reply
    await delay(500)
  }
}

const fault = (what: string, count: number): string[] => (count > 0 ? [`${what}: ${count}`] : [])

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + SENT_MS_MAX
  while (!(await condition()) && performance.now() < deadline) await delay(100)
}
