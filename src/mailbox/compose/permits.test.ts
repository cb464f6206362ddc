// Large mail is read and prepared with a permit, whatever the door; of small mail there are many.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage } from '../../../test/support/mailbox.ts'
import { system } from '../../platform/db/actor.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { refuse } from '../../platform/refusal.ts'
import { buildShared } from '../../shared.ts'
import { approve } from '../approvals/approve.ts'
import { sendDraft } from '../drafts/send.ts'
import { scheduledDrafts } from '../drafts/worker.ts'
import { compose } from './compose.ts'
import { SMALL_BYTES_MAX } from '../../sending/messages/limits.ts'
import type { Composing } from './composing.ts'

let box: Box
let account: TestAccount
let inboxId: string
let composing: Composing
before(async () => {
  box = await theBox({ environment: { ROLES: 'api' } })
  account = await anAccount({ box })
  inboxId = await anInbox(account)
  ;({ composing } = buildShared({ ...box.app.world, metrics: createMetrics() }, () => box.url))
})

const by = { ...system('test'), action: 'draft.send' }
const caller = () => ({ keyId: null, name: 'test', reach: { accountId: account.id, tenantId: null, inboxId: null } })

const TO = ['u@example.com']
const file = (bytes: number) => [{ filename: 'a.txt', content: Buffer.alloc(bytes, 'word ').toString('base64') }]
const LARGE = { to: TO, text: 'x', attachments: file(SMALL_BYTES_MAX) }
const SMALL = { to: TO, text: 'x', attachments: file(100) }

async function aDraft(body: object): Promise<string> {
  const { status, body: answer } = await account.api.post(`/v1/inboxes/${inboxId}/drafts`, body)
  assert.equal(status, 201, JSON.stringify(answer))
  return answer.draft.id
}

async function aHeldMail(body: object): Promise<string> {
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { dlp: 'enforce' } })
  const text = 'My card is 4111 1111 1111 1111.'
  const { body: answer } = await account.api.post(`/v1/inboxes/${inboxId}/messages`, { ...body, text })
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { dlp: 'off' } })
  assert.ok(answer.approval_id, JSON.stringify(answer))
  return answer.approval_id
}

const isThere = async (draftId: string): Promise<boolean> =>
  (await account.api.get(`/v1/drafts/${draftId}`)).status === 200

/** As if others had them all, for longer than anybody waits. */
const withoutPermits = (): Composing => ({
  ...composing,
  withPermit: ({ bytes }, act) =>
    bytes > SMALL_BYTES_MAX ? Promise.reject(refuse('unavailable', 'No permit.')) : act(),
})

test('without a permit no door takes large mail, and each takes small mail', async () => {
  const { world } = box.app
  const none = withoutPermits()
  const doors = [
    async (body: object) => compose(world, none, { by, caller: caller(), inboxId, kind: 'new', body }),
    async (body: object) => sendDraft(world, none, { by, caller: caller(), id: await aDraft(body) }),
    async (body: object) => approve(world, none, { by, caller: caller(), id: await aHeldMail(body) }),
  ]
  for (const door of doors) {
    await assert.rejects(door(LARGE), /No permit/)
    await door(SMALL)
  }
})

test('an inbox out of reach is not found at once, however large the mail', async () => {
  const elsewhere = { ...caller(), reach: { ...caller().reach, tenantId: randomUUID() } }
  const order = { by, caller: elsewhere, inboxId, kind: 'new' as const, body: LARGE }
  await assert.rejects(compose(box.app.world, withoutPermits(), order), { code: 'not_found' })
})

test('what is quoted or forwarded needs a permit where it is large, and none where it is small', async () => {
  const { world } = box.app
  const none = withoutPermits()
  const lines = '\n'.repeat(SMALL_BYTES_MAX + 1)
  const content = 'x'.repeat(SMALL_BYTES_MAX + 1)
  const small = await aFiledMessage(box, inboxId, { attachments: [{ filename: 'a.txt', content: 'x' }] })
  const large = {
    text: await aFiledMessage(box, inboxId, { text: lines }),
    html: await aFiledMessage(box, inboxId, { html: `<p>${content}</p>` }),
    file: await aFiledMessage(box, inboxId, { attachments: [{ filename: 'a.txt', content }] }),
  }
  const sent = (body: object) => async (originalId: string, kind: 'reply' | 'forward') =>
    compose(world, none, { by, caller: caller(), inboxId, kind, originalId, body: { to: TO, ...body } })
  const drafted = (body: object) => async (originalId: string, kind: 'reply' | 'forward') => {
    const about = kind === 'reply' ? { reply_to_id: originalId } : { forwarded_id: originalId }
    const id = await aDraft({ to: TO, ...about, ...body })
    const sending = sendDraft(world, none, { by, caller: caller(), id })
    await sending.catch(async () => assert.ok(await isThere(id)))
    return sending
  }
  for (const door of [sent, drafted]) {
    for (const kind of ['reply', 'forward'] as const) {
      await door({})(small.id, kind)
      await assert.rejects(door({})(large.text.id, kind), /No permit/)
      await assert.rejects(door({})(large.html.id, kind), /No permit/)
    }
    await assert.rejects(door({})(large.file.id, 'forward'), /No permit/)
    await door({})(large.file.id, 'reply')
    await door({ text: 'It quotes nothing.' })(large.text.id, 'reply')
  }
})

test('the worker of scheduled drafts tries a large one again within seconds when it got no permit', async () => {
  const world = { ...box.app.world, metrics: createMetrics() }
  const send_at = new Date(box.clock.now().getTime() + 60_000).toISOString()
  const [large, small] = [await aDraft({ ...LARGE, send_at }), await aDraft({ ...SMALL, send_at })]
  box.clock.advance(60_001)
  const attemptDue = async (permits: Composing): Promise<void> => {
    const worker = scheduledDrafts({ ...world, metrics: createMetrics() }, permits)
    await worker.takeNext()
    await worker.idle(20_000)
  }
  await attemptDue(withoutPermits())
  assert.equal(await isThere(small), false)
  assert.equal((await account.api.get(`/v1/drafts/${large}`)).body.draft.scheduled_at, send_at)
  box.clock.advance(2_201)
  await attemptDue(composing)
  assert.equal(await isThere(large), false)
})

test('large mail of an account goes one after the other, through every door', async () => {
  const { world } = box.app
  const drafts = await Promise.all(Array.from({ length: 4 }, () => aDraft(LARGE)))
  const approvals = [await aHeldMail(LARGE), await aHeldMail(LARGE)]
  let [now, most] = [0, 0]
  const counted: Composing = {
    ...composing,
    withPermit: (mail, act) =>
      composing.withPermit(mail, async () => {
        most = Math.max(most, ++now)
        return act().finally(() => now--)
      }),
  }
  const order = { by, caller: caller(), inboxId, kind: 'new' as const, body: LARGE }
  await Promise.all([
    ...drafts.map(id => sendDraft(world, counted, { by, caller: caller(), id })),
    ...approvals.map(id => approve(world, counted, { by, caller: caller(), id })),
    ...Array.from({ length: 3 }, () => compose(world, counted, order)),
  ])
  assert.equal(most, 1)
})

test('a hundred composed mails of an account at once are all accepted', async () => {
  const body = { to: TO, html: `<p>${'Hello <b>there</b>. '.repeat(20)}</p>` }
  const sent = await Promise.all(
    Array.from({ length: 100 }, () => account.api.post(`/v1/inboxes/${inboxId}/messages`, body)),
  )
  const statuses = new Set(sent.map(({ status }) => status))
  assert.deepEqual([...statuses], [202])
})

test('slow mail that is inspected keeps no other account from sending, inspected or not', async () => {
  const owners = await Promise.all([1, 2, 3].map(() => anAccount({ box })))
  const [a, b, c] = await Promise.all(
    owners.map(async owner => {
      const [plain, strict] = [await anInbox(owner), await anInbox(owner)]
      await owner.api.patch(`/v1/inboxes/${strict}`, { policy: { dlp: 'enforce' } })
      return { accountId: owner.id, plain, strict }
    }),
  )
  const { promise: end, resolve: release } = Promise.withResolvers<void>()
  const bytes = SMALL_BYTES_MAX + 1
  const slow = [a, b, a, b].map(each =>
    composing.withPermit({ accountId: each!.accountId, inboxId: each!.strict, bytes }, () => end),
  )
  const { accountId, plain, strict } = c!
  for (const mail of [{ bytes: 1 }, { bytes, inboxId: plain }, { bytes, inboxId: strict }, { bytes }]) {
    assert.equal(await composing.withPermit({ accountId, ...mail }, async () => 'sent'), 'sent')
  }
  release()
  await Promise.all(slow)
})
