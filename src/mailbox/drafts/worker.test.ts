// The worker of scheduled drafts: what it tries again, how often, and what it leaves behind meanwhile.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { KeysAsked } from '../../platform/work/leased-work.ts'
import { buildShared } from '../../shared.ts'
import type { Composing } from '../compose/composing.ts'
import { claimDueDrafts } from './due-queries.ts'
import { scheduledDrafts } from './worker.ts'

let box: Box
before(async () => {
  // Without a worker of its own: each try is one that a test has asked for.
  box = await theBox({ environment: { ROLES: 'api' } })
})

const HOUR_MS = 3_600_000

async function aDueDraft(account: TestAccount, inboxId: string, fields: object = {}): Promise<string> {
  const send_at = new Date(box.clock.now().getTime() + HOUR_MS).toISOString()
  const body = { to: ['u@example.com'], text: 'x', send_at, ...fields }
  const { status, body: answer } = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, body)
  assert.equal(status, 201, JSON.stringify(answer))
  box.clock.advance(HOUR_MS + 1)
  return answer.draft.id
}

/** One try of all that is due, by a process of its own. */
async function attemptDue(change: Partial<Composing> = {}): Promise<void> {
  const world = { ...box.app.world, metrics: createMetrics() }
  const worker = scheduledDrafts(world, { ...buildShared(world, () => box.url).composing, ...change })
  await worker.takeNext()
  await worker.idle(20_000)
}

/** When what waits is due again. */
const nextTry = () => box.clock.advance(66_001)

const draftOf = async ({ api }: TestAccount, id: string) => (await api.get(`/v1/drafts/${id}`)).body.draft
const isSent = async ({ api }: TestAccount, id: string) => (await api.get(`/v1/drafts/${id}`)).status === 404

test('a draft that waits for ever takes no other with it, and a wait is no failed try', async () => {
  const account = await anAccount({ box })
  const inboxId = await anInbox(account)
  const waiting = await aDueDraft(account, inboxId)
  const { api } = account
  await api.patch(`/v1/inboxes/${inboxId}`, { status: 'paused' })
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update drafts set attempts = 32767 where id = ${waiting}`),
  )
  const other = await aDueDraft(account, await anInbox(account))
  await attemptDue()
  assert.ok(await isSent(account, other))
  assert.match((await draftOf(account, waiting)).last_error, /paused/)

  const patient = await aDueDraft(account, inboxId)
  for (let n = 0; n < 12; n++) {
    nextTry()
    await attemptDue()
  }
  assert.match((await draftOf(account, patient)).last_error, /paused/)
  await api.patch(`/v1/inboxes/${inboxId}`, { status: 'active' })
  nextTry()
  await attemptDue({ requireInbox: () => Promise.reject(new Error('a fault of ours')) })
  const { scheduled_at, last_error } = await draftOf(account, patient)
  assert.match(last_error, /a reason of ours/)
  assert.notEqual(scheduled_at, null, 'its first fault')
  nextTry()
  await attemptDue()
  assert.ok(await isSent(account, patient))
})

test('a claim may ask for certain inboxes only, or for those of an account that has its share which are known', async () => {
  const [one, other] = [await anAccount({ box }), await anAccount({ box })]
  const inboxes = [await anInbox(one), await anInbox(one), await anInbox(other)] as const
  for (const [n, inboxId] of inboxes.entries()) await aDueDraft(n === 2 ? other : one, inboxId)
  const NONE = { only: null, except: [], exceptAccounts: [], known: [] }
  const claimed = async (asked: Partial<KeysAsked>): Promise<string[]> => {
    const undone = new Error('undone')
    let ids: string[] = []
    const claiming = box.app.world.db.transact(system('test'), async tx => {
      const lease = { leaseToken: randomUUID(), leaseUntil: new Date(tx.now.getTime() + 30_000) }
      const claim = { ...lease, limit: 100, inFlight: new Set<never>(), limitsFor: () => [] }
      ids = (await claimDueDrafts(tx, { ...claim, asked: { ...NONE, ...asked } })).map(draft => draft.inbox_id)
      throw undone
    })
    await assert.rejects(claiming, undone)
    return inboxes.filter(id => ids.includes(id))
  }
  assert.deepEqual(await claimed({}), inboxes)
  assert.deepEqual(await claimed({ only: [inboxes[1]] }), [inboxes[1]])
  assert.deepEqual(await claimed({ only: [] }), [])
  assert.deepEqual(await claimed({ except: [inboxes[0]] }), [inboxes[1], inboxes[2]])
  assert.deepEqual(await claimed({ exceptAccounts: [one.id] }), [inboxes[2]])
  assert.deepEqual(await claimed({ exceptAccounts: [one.id], known: [inboxes[1]] }), [inboxes[1], inboxes[2]])
})

test('a draft of a disabled tenant, or of an inbox whose policy is being changed, stays scheduled', async () => {
  const account = await anAccount({ box })
  const inboxId = await anInbox(account)
  const id = await aDueDraft(account, inboxId)
  const tenant = `/v1/tenants/${account.tenant.id}`
  assert.equal((await account.api.patch(tenant, { status: 'disabled' })).status, 200)
  await attemptDue()
  const disabled = await draftOf(account, id)
  assert.match(disabled.last_error, /disabled/)
  assert.notEqual(disabled.scheduled_at, null)
  await account.api.patch(tenant, { status: 'active' })

  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { dlp: 'enforce' } })
  const { requireInbox } = buildShared(box.app.world, () => box.url).composing
  nextTry()
  await attemptDue({
    requireInbox: async (reach, of) => ({ ...(await requireInbox(reach, of)), policy: { dlp: 'off' } }),
  })
  const changing = await draftOf(account, id)
  assert.match(changing.last_error, /being changed/)
  assert.notEqual(changing.scheduled_at, null)
  nextTry()
  await attemptDue()
  assert.ok(await isSent(account, id))
})

test('a lease whose worker died keeps nobody from calling the draft back, writing it anew or sending it', async () => {
  const account = await anAccount({ box })
  const inboxId = await anInbox(account)
  const { api } = account
  const calls = [
    (id: string) => api.post(`/v1/drafts/${id}/cancel`),
    (id: string) => api.patch(`/v1/drafts/${id}`, { to: ['v@example.com'], text: 'y' }),
    (id: string) => api.post(`/v1/drafts/${id}/send`),
    (id: string) => api.delete(`/v1/drafts/${id}`),
  ]
  for (const call of calls) {
    const id = await aDueDraft(account, inboxId)
    await box.app.world.db.transact(system('test'), tx =>
      tx.run(sql`update drafts set lease_token = gen_random_uuid(), due_at = ${tx.now} where id = ${id}`),
    )
    assert.ok((await call(id)).status < 300)
    await attemptDue()
  }
  const { body } = await api.get(`/v1/inboxes/${inboxId}/messages?folder=sent`)
  assert.equal(body.messages.length, 1, 'the one that was sent by a call')
})

test('a draft that was refused when it was due says why in its event', async () => {
  const account = await anAccount({ box })
  const inboxId = await anInbox(account)
  const id = await aDueDraft(account, inboxId)
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { allow_recipients: ['elsewhere.example'] } })
  await attemptDue()
  const told = await box.app.world.db.one<{ data: object }>(
    sql`select data from events where inbox_id = ${inboxId} and type = 'draft.updated'`,
  )
  const { last_error: error } = await draftOf(account, id)
  assert.deepEqual(told.data, { draft_id: id, thread_id: null, scheduled_at: null, error })
})

test('a pause that rejects is one event for a draft that is tried each minute', async () => {
  const account = await anAccount({ box })
  const inboxId = await anInbox(account)
  const id = await aDueDraft(account, inboxId)
  const { api } = account
  const paused = await api.post(`/v1/tenants/${account.tenant.id}/pause`, { queue_action: 'reject' })
  assert.equal(paused.status, 201)
  const events = async (): Promise<number> =>
    (
      await box.app.world.db.one<{ count: number }>(
        sql`select count(*)::int as count from events where account_id = ${account.id} and type = 'rejected'`,
      )
    ).count
  for (let n = 0; n < 3; n++) {
    await attemptDue()
    assert.match((await draftOf(account, id)).last_error, /paused for tenant/)
    nextTry()
  }
  assert.equal(await events(), 1)
  const asked = await api.post(`/v1/drafts/${id}/send`)
  assert.deepEqual([asked.status, asked.body.error?.code], [403, 'sending_suspended'])
  assert.equal(await events(), 2, 'a call is answered, and recorded, each time')
})
