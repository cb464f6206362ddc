// An inbox that mirrors a mailbox of the stand-in for a provider, in the process of the test.
import type { TestContext } from 'node:test'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { Supervisor } from '../../platform/work/supervisor.ts'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { GrantGone, type Grant } from '../connections/tokens.ts'
import type { FakeImap } from '../imap/imap.fixture.ts'
import type { Patience } from '../imap/session.ts'
import { feature } from './feature.ts'
import { findConnection, insertConnection, listMirrored, setDue, type Mirrored } from './sync.fixture.ts'

/** The service and a provider, in whose mailbox there may be something already. */
export interface Connected {
  account: TestAccount
  inboxId: string
  grant: Grant & { isGone: boolean; refused: string[] }
  messages(): Promise<Mirrored[]>
  until(what: string, is: (messages: Mirrored[]) => boolean): Promise<Mirrored[]>
  connection(): ReturnType<typeof findConnection>
  untilState(state: string): Promise<void>
  /** The next session begins now, not after the retry delay. */
  tryAgain(): Promise<void>
  events(type: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
  start(): Promise<void>
}

/** Threads start with the first mail, which takes its time on a machine that is busy. */
const PATIENCE_MS = 30_000
const PACE = { pollMs: 300, progressMs: 50 }
/** Rounds through the folders. What would come back, comes back in the first or the second. */
const ROUNDS = 3

type Provider = Pick<FakeImap, 'server' | 'close'>

/** Sessions with this provider, in this process. */
async function runMirrors(provider: Provider, grant: Connected['grant'], patience: Partial<Patience> = {}) {
  const { app } = await theBox()
  const tokens = {
    current: async (): Promise<Grant> => {
      if (grant.isGone) throw new GrantGone('revoked')
      return grant
    },
    refused: async (_inboxId: string, token: string): Promise<void> => void grant.refused.push(token),
  }
  const world = { ...app.world, metrics: createMetrics() }
  const servers = { google: { imap: provider.server }, microsoft: null }
  const mirrors = feature(world, { tokens, servers, pace: PACE, patience })
  const supervisor = new Supervisor(world)
  supervisor.start(mirrors.workers!)
  return {
    stop: async () => {
      await supervisor.stop()
      await mirrors.drain?.()
      await mirrors.close?.(Promise.resolve())
    },
  }
}

interface Given {
  account?: TestAccount
  accessToken?: string
  /** Its sessions begin with `start`. */
  isIdle?: boolean
  patience?: Partial<Patience>
}

/** An inbox that is connected to the provider until the end of the test. */
export async function connect(t: TestContext, provider: Provider, given?: Given): Promise<Connected> {
  const box = await theBox()
  const account = given?.account ?? (await anAccount({ box }))
  const inboxId = await anInbox(account)
  const { world } = box.app
  const grant = {
    address: 'jane@gmail.test',
    accessToken: given?.accessToken ?? 'token',
    generation: 1,
    isGone: false,
    refused: [] as string[],
  }
  await insertConnection(world, { inboxId, address: grant.address })
  const start = (): ReturnType<typeof runMirrors> => runMirrors(provider, grant, given?.patience)
  let mirrors = given?.isIdle ? null : await start()
  t.after(async () => {
    await mirrors?.stop()
    await setDue(world, inboxId, null)
    await provider.close()
  })
  const messages = (): Promise<Mirrored[]> => listMirrored(world, inboxId)
  const connection: Connected['connection'] = () => findConnection(world, inboxId)
  return {
    account,
    inboxId,
    grant,
    messages,
    until: (what, is) =>
      eventually(
        what,
        async () => {
          const found = await messages()
          return is(found) && found
        },
        PATIENCE_MS,
      ),
    connection,
    untilState: async state => {
      await eventually(`state ${state}`, async () => (await connection()).state === state, PATIENCE_MS)
    },
    tryAgain: async () => {
      await setDue(world, inboxId, world.clock.now())
      world.wakeups.hint('connections')
    },
    events: async type =>
      (
        await world.db.many<{ data: Record<string, unknown> }>(sql`
          select data from events where inbox_id = ${inboxId} and type = ${type} order by id limit 1000`)
      ).map(({ data }) => data),
    stop: async () => mirrors?.stop(),
    start: async () => void (mirrors = await start()),
  }
}

/** Waits until the mirror has looked through all of the few folders of the provider several times. */
export async function untilLookedThrough(fake: FakeImap): Promise<void> {
  const looks = (): number => fake.said.filter(command => /^STATUS "?INBOX"? /.test(command)).length
  const before = looks()
  await eventually('several rounds', () => looks() > before + ROUNDS)
}

const MAIL = { from: 'ann@example.com', to: 'jane@gmail.test', body: 'Hello.' }

export const mail = (subject: string, fields: Partial<typeof MAIL & { id: string }> = {}): string => {
  const { id = unique('m'), from, to, body } = { ...MAIL, ...fields }
  return [
    `From: Ann <${from}>`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Message-ID: <${id}@example.com>`,
    '',
    body,
    '',
  ].join('\r\n')
}
