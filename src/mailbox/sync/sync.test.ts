// A connected inbox mirrors its mailbox at the provider, both ways.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { Supervisor } from '../../platform/work/supervisor.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { GrantGone, type Grant } from '../connections/tokens.ts'
import { feature } from './feature.ts'
import { FakeImap } from './imap.fixture.ts'

let started: Promise<Box> | null = null
const theBox = (): Promise<Box> => (started ??= aBox())

/** The service and a provider, in whose mailbox there may be something already. */
interface Connected {
  account: TestAccount
  inboxId: string
  grant: Grant & { isGone: boolean; refused: string[] }
  messages(): Promise<Mirrored[]>
  until(what: string, is: (messages: Mirrored[]) => boolean): Promise<Mirrored[]>
  connection(): Promise<{
    state: string
    error: string | null
    messages_synced: number
    messages_total: number | null
    due_at: Date | null
  }>
  untilState(state: string): Promise<void>
  events(type: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
  start(): Promise<void>
}

interface Mirrored {
  id: string
  folder: string
  subject: string
  direction: string
  is_read: boolean
  received_at: Date
}

/** Sessions with this provider, in this process. */
async function runMirrors(fake: FakeImap, grant: Connected['grant']): Promise<{ stop(): Promise<void> }> {
  const { app } = await theBox()
  const tokens = {
    current: async (): Promise<Grant> => {
      if (grant.isGone) throw new GrantGone('revoked')
      return grant
    },
    refused: async (_inboxId: string, token: string): Promise<void> => void grant.refused.push(token),
  }
  const world = { ...app.world, metrics: createMetrics() }
  const servers = { google: { imap: fake.server }, microsoft: null }
  const mirrors = feature(world, { tokens, servers, pace: { pollMs: 300, progressMs: 50 } })
  const supervisor = new Supervisor(world)
  supervisor.start(mirrors.loops!)
  return {
    stop: async () => {
      await supervisor.stop()
      await mirrors.close?.(Promise.resolve())
    },
  }
}

/** An inbox that is connected to the provider until the end of the test. */
async function connect(t: TestContext, fake: FakeImap, given?: { account?: TestAccount }): Promise<Connected> {
  const box = await theBox()
  const account = given?.account ?? (await anAccount({ box }))
  const inboxId = await anInbox(account)
  const { world } = box.app
  const grant = {
    address: 'jane@gmail.test',
    accessToken: 'token',
    generation: 1,
    isGone: false,
    refused: [] as string[],
  }
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into connections (inbox_id, account_id, tenant_id, provider, address, state, connected_at, due_at)
      select id, account_id, tenant_id, 'google', ${grant.address}, 'syncing', ${tx.now}, ${tx.now}
      from inboxes where id = ${inboxId}`),
  )
  let mirrors = await runMirrors(fake, grant)
  t.after(async () => {
    console.log(await connection(), fake.said.slice(-30), box.logLines.filter(l => l.includes('mirror')).slice(-5))
    await mirrors.stop()
    await world.db.transact(system('test'), tx =>
      tx.run(sql`update connections set due_at = null where inbox_id = ${inboxId}`),
    )
    await fake.close()
  })
  const messages = (): Promise<Mirrored[]> =>
    world.db.many<Mirrored>(sql`
      select m.id, f.name as folder, m.subject, m.direction, m.is_read, m.received_at
      from inbox_messages m join folders f on f.id = m.folder_id where m.inbox_id = ${inboxId}
      order by m.id limit 5000`)
  const connection: Connected['connection'] = () =>
    world.db.one(sql`
      select state, error, messages_synced, messages_total, due_at from connections where inbox_id = ${inboxId}`)
  return {
    account,
    inboxId,
    grant,
    messages,
    until: (what, is) =>
      eventually(what, async () => {
        const found = await messages()
        return is(found) && found
      }),
    connection,
    untilState: async state => {
      await eventually(`state ${state}`, async () => (await connection()).state === state)
    },
    events: async type =>
      (
        await world.db.many<{ data: Record<string, unknown> }>(sql`
          select data from events where inbox_id = ${inboxId} and type = ${type} order by id limit 1000`)
      ).map(({ data }) => data),
    stop: () => mirrors.stop(),
    start: async () => void (mirrors = await runMirrors(fake, grant)),
  }
}

const mail = (subject: string, { id = unique('m'), from = 'ann@example.com', body = 'Hello.' } = {}): string =>
  [
    `From: Ann <${from}>`,
    'To: jane@gmail.test',
    `Subject: ${subject}`,
    `Message-ID: <${id}@example.com>`,
    '',
    body,
    '',
  ].join('\r\n')

test('history is mirrored with folders, dates and flags, and nobody is told of it', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  const at = new Date('2024-03-01T10:00:00Z')
  fake.deliver('INBOX', mail('old'), { flags: ['\\Seen'], at })
  fake.deliver('INBOX', mail('unread'), { at })
  fake.deliver('Sent', mail('mine', { from: 'jane@gmail.test' }), { at, flags: ['\\Seen'] })
  fake.deliver('Work', mail('project'), { at })
  fake.deliver('Trash', mail('rubbish'), { at })
  fake.deliver('Drafts', mail('unfinished'), { at })
  const { until, untilState, events, connection } = await connect(t, fake)

  const found = await until('everything mirrored', messages => messages.length === 5)
  await untilState('live')

  const shown = Object.fromEntries(
    found.map(({ subject, folder, direction, is_read }) => [subject, [folder, direction, is_read]]),
  )
  assert.deepEqual(shown, {
    old: ['inbox', 'in', true],
    unread: ['inbox', 'in', false],
    mine: ['sent', 'out', true],
    project: ['Work', 'in', false],
    rubbish: ['trash', 'in', false],
  })
  assert.ok(found.every(message => message.received_at.getTime() === at.getTime()))
  assert.deepEqual(await events('message.received'), [])
  const { messages_synced, messages_total } = await connection()
  assert.deepEqual([messages_synced, messages_total], [5, 5])
  const states = (await events('inbox.updated')).map(data => (data['connection'] as { state: string }).state)
  assert.deepEqual([states[0], states.at(-1)], ['syncing', 'live'])
  await assertMailboxCounts((await theBox()).app.world.db)
})
