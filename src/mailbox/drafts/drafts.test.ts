// Drafts: written, changed, sent once, scheduled and called back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'

async function aMailbox(): Promise<{ account: TestAccount; inboxId: string }> {
  const account = await anAccount({ box: await theBox() })
  return { account, inboxId: await anInbox(account) }
}

const HOUR_MS = 3_600_000
const inAnHour = async (): Promise<string> => new Date((await theBox()).clock.now().getTime() + HOUR_MS).toISOString()

const create = async ({ api }: TestAccount, inboxId: string, body: object) => {
  const { status, body: answer } = await api.post(`/v1/inboxes/${inboxId}/drafts`, body)
  assert.equal(status, 201, JSON.stringify(answer))
  return answer.draft
}

interface Sent {
  direction: string
  subject: string
  status: string
  thread_id: string
  attachments: { filename: string }[]
}

const sentFrom = async ({ api }: TestAccount, inboxId: string): Promise<Sent[]> =>
  (await api.get(`/v1/inboxes/${inboxId}/messages?folder=sent`)).body.messages

test('a draft is written, listed, read, written anew and deleted', async () => {
  const { account, inboxId } = await aMailbox()
  const { api } = account
  const files = [{ filename: 'a.txt', content: Buffer.from('hello').toString('base64') }]
  const draft = await create(account, inboxId, { to: ['u@example.com'], subject: 'One', text: 'x', attachments: files })
  assert.deepEqual(draft.to, ['u@example.com'])
  assert.equal(draft.scheduled_at, null)
  assert.equal(draft.attachments[0].size, 5)
  assert.deepEqual((await api.get(`/v1/drafts/${draft.id}`)).body.draft, draft)
  const { body: list } = await api.get(`/v1/inboxes/${inboxId}/drafts?limit=1`)
  assert.deepEqual(list, { drafts: [draft], next_cursor: null })
  const { body: changed } = await api.patch(`/v1/drafts/${draft.id}`, { subject: 'Two' })
  assert.equal(changed.draft.subject, 'Two')
  assert.deepEqual([changed.draft.to, changed.draft.text], [[], null])
  assert.deepEqual(changed.draft.attachments, [])
  assert.deepEqual((await api.delete(`/v1/drafts/${draft.id}`)).body, { deleted: true })
  assert.equal((await api.get(`/v1/drafts/${draft.id}`)).status, 404)
})

test('under legal hold neither a draft nor a file of it is deleted; it may be written anew', async () => {
  const { account, inboxId } = await aMailbox()
  const { api } = account
  const draft = await create(account, inboxId, { to: ['u@example.com'], text: 'x', attachments: [{ content: 'eA==' }] })
  assert.equal((await api.patch('/v1/account', { legal_hold: true })).status, 200)
  const refused = await api.delete(`/v1/drafts/${draft.id}`)
  assert.deepEqual([refused.status, refused.body.error?.code], [409, 'conflict'])
  assert.equal((await api.patch(`/v1/drafts/${draft.id}`, { text: 'y' })).status, 409, 'its file would be deleted')
  const attachments = [{ id: draft.attachments[0].id }]
  assert.equal((await api.patch(`/v1/drafts/${draft.id}`, { text: 'y', attachments })).status, 200)
  const stranger = await anAccount({ box: account.box })
  assert.equal((await stranger.api.delete(`/v1/drafts/${draft.id}`)).status, 404)
  await api.patch('/v1/account', { legal_hold: false })
  assert.equal((await api.delete(`/v1/drafts/${draft.id}`)).status, 200)
})

test('a page of drafts ends and goes on', async () => {
  const { account, inboxId } = await aMailbox()
  const made: string[] = []
  for (let n = 0; n < 5; n++) made.unshift((await create(account, inboxId, { subject: `Draft ${n}` })).id)
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await account.api.get(`/v1/inboxes/${inboxId}/drafts?limit=2${cursor && `&cursor=${cursor}`}`)
    for (const { id } of body.drafts) seen.push(id)
    cursor = body.next_cursor ? encodeURIComponent(body.next_cursor) : ''
  } while (cursor)
  assert.deepEqual(seen, made)
})

test('what cannot be a draft is refused', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const past = new Date(box.clock.now().getTime() - 1_000).toISOString()
  const refused = async (body: object): Promise<number> =>
    (await api.post(`/v1/inboxes/${inboxId}/drafts`, body)).status
  assert.equal(await refused({ to: ['u@example.com'], send_at: past }), 400)
  const beyond = '9999-12-31T23:59:59-23:59'
  assert.equal(await refused({ to: ['u@example.com'], send_at: beyond }), 400, 'a year of five digits in UTC')
  assert.equal(await refused({ reply_to_id: '018f0000-0000-7000-8000-000000000000' }), 400)
  const other = await aFiledMessage(box, await anInbox(account))
  assert.equal(await refused({ reply_to_id: other.id }), 400, 'a message of another inbox')
  assert.equal(await refused({ send_at: await inAnHour() }), 422, 'nobody to send it to')
  assert.equal(await refused({ to: ['no address'], send_at: await inAnHour() }), 422)
  assert.equal(await refused({ attachments: [{ content: '***' }] }), 422)
  const draft = await create(account, inboxId, {})
  assert.equal((await api.post(`/v1/drafts/${draft.id}/schedule`, { send_at: past })).status, 400)
  assert.equal((await api.post(`/v1/drafts/${draft.id}/schedule`, {})).status, 400)
  assert.equal((await api.post(`/v1/drafts/${draft.id}/send`)).status, 422)
  assert.equal((await api.get(`/v1/drafts/${draft.id}`)).status, 200, 'a refused one stays')
})

test('a disabled tenant writes drafts and schedules none, also by repeating what it scheduled before', async () => {
  const { account, inboxId } = await aMailbox()
  const { api } = account
  const mail = { to: ['u@example.com'], text: 'x' }
  const timed = { ...mail, send_at: await inAnHour() }
  const draft = await create(account, inboxId, mail)
  const scheduled = { 'idempotency-key': unique('key') }
  const compose = (headers: Record<string, string>) => api.post(`/v1/inboxes/${inboxId}/messages`, timed, headers)
  assert.equal((await compose(scheduled)).status, 202)
  await api.patch(`/v1/tenants/${account.tenant.id}`, { status: 'disabled' })
  const tries = [
    await compose({}),
    await compose(scheduled),
    await api.post(`/v1/inboxes/${inboxId}/drafts`, timed),
    await api.patch(`/v1/drafts/${draft.id}`, timed),
    await api.post(`/v1/drafts/${draft.id}/schedule`, { send_at: timed.send_at }),
  ]
  assert.deepEqual(
    tries.map(({ status, body }) => [status, body.error?.code]),
    tries.map(() => [403, 'tenant_disabled']),
  )
  assert.equal((await api.patch(`/v1/drafts/${draft.id}`, { ...mail, text: 'y' })).status, 200)
})

test('a draft that is sent by many at once is sent once, with its attachments, in the thread it answers', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const original = await aFiledMessage(box, inboxId, { subject: 'Question' })
  const files = [{ filename: 'a.txt', content: Buffer.from('hello').toString('base64') }]
  const draft = await create(account, inboxId, { reply_to_id: original.id, text: 'Answer', attachments: files })
  assert.equal(draft.thread_id, original.threadId)
  const replies = await Promise.all(Array.from({ length: 8 }, () => api.post(`/v1/drafts/${draft.id}/send`)))
  assert.equal(replies.filter(({ status }) => status === 202).length, 1, replies.map(each => each.status).join())
  assert.ok(replies.every(({ status }) => [202, 404, 409].includes(status)))
  const sent = await sentFrom(account, inboxId)
  assert.equal(sent.length, 1)
  assert.equal(sent[0]?.subject, 'Re: Question')
  assert.equal(sent[0]?.thread_id, original.threadId)
  assert.deepEqual(
    sent[0]?.attachments.map(({ filename }) => filename),
    ['a.txt'],
  )
  assert.equal((await api.get(`/v1/drafts/${draft.id}`)).status, 404)
  await assertMailboxCounts(box.app.world.db)
})

test('a scheduled draft is sent at its time and not before; one that was called back is not', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const send_at = await inAnHour()
  const kept = await create(account, inboxId, { to: ['u@example.com'], subject: 'Kept', text: 'x' })
  const scheduled = await api.post(`/v1/drafts/${kept.id}/schedule`, { send_at })
  assert.deepEqual(scheduled.body, { id: kept.id, scheduled_at: send_at })
  const cancelled = await create(account, inboxId, { to: ['u@example.com'], subject: 'Cancelled', text: 'x', send_at })
  const called = await api.post(`/v1/drafts/${cancelled.id}/cancel`)
  assert.deepEqual(called.body, { id: cancelled.id, scheduled_at: null })
  box.clock.advance(HOUR_MS - 2_000)
  const run = async (): Promise<number> => {
    const worker = box.app.workers.find(({ name }) => name === 'scheduled-drafts')!
    assert.equal(worker.kind, 'due')
    return worker.kind === 'due' ? worker.run(box.app.world, new AbortController().signal) : 0
  }
  assert.equal(await run(), 0)
  assert.equal((await sentFrom(account, inboxId)).length, 0)
  box.clock.advance(2_001)
  const sent = await eventually('it is sent', async () => {
    const found = await sentFrom(account, inboxId)
    return found.length > 0 && found
  })
  assert.deepEqual(
    sent.map(({ subject }) => subject),
    ['Kept'],
  )
  await eventually('the draft is gone', async () => (await api.get(`/v1/drafts/${kept.id}`)).status === 404)
  assert.equal((await api.get(`/v1/drafts/${cancelled.id}`)).body.draft.scheduled_at, null)
})

test('compose, reply and forward with send_at make scheduled drafts', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const original = await aFiledMessage(box, inboxId, {
    subject: 'Plans',
    text: 'The plan.',
    from: 'Ann <ann@example.com>',
  })
  const send_at = await inAnHour()
  const composed = await api.post(`/v1/inboxes/${inboxId}/messages`, { to: ['u@example.com'], text: 'x', send_at })
  assert.equal(composed.status, 202, JSON.stringify(composed.body))
  assert.deepEqual([composed.body.status, composed.body.scheduled_at], ['scheduled', send_at])
  const replied = await api.post(`/v1/inbox-messages/${original.id}/reply`, { text: 'Yes.', send_at })
  const { draft } = (await api.get(`/v1/drafts/${replied.body.id}`)).body
  assert.deepEqual([draft.to, draft.subject, draft.reply_to_id], [['Ann <ann@example.com>'], 'Re: Plans', original.id])
  const forwarded = await api.post(`/v1/inbox-messages/${original.id}/forward`, { to: ['v@example.com'], send_at })
  assert.equal(forwarded.status, 202)
  box.clock.advance(HOUR_MS + 1)
  const sent = await eventually('all are sent', async () => {
    const found = await sentFrom(account, inboxId)
    return found.length === 3 && found
  })
  assert.deepEqual(sent.map(({ subject }) => subject).toSorted(), ['', 'Fwd: Plans', 'Re: Plans'])
})

test('a draft shows what it forwards, and keeps it when it is written anew, unless another is given', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const original = await aFiledMessage(box, inboxId, { subject: 'Plans', text: 'The plan.' })
  const send_at = await inAnHour()
  const { body: composed } = await api.post(`/v1/inbox-messages/${original.id}/forward`, {
    to: ['v@example.com'],
    send_at,
  })
  const draftPath = `/v1/drafts/${composed.id}`
  assert.equal((await api.get(draftPath)).body.draft.forwarded_id, original.id)
  const patched = await api.patch(draftPath, { to: ['w@example.com'], send_at })
  assert.equal(patched.body.draft.forwarded_id, original.id)
  const both = await api.patch(draftPath, {
    to: ['w@example.com'],
    reply_to_id: original.id,
    forwarded_id: original.id,
  })
  assert.deepEqual([both.status, both.body.error?.code], [400, 'invalid_request'])
  const foreign = await aFiledMessage(box, await anInbox(account))
  assert.equal((await api.patch(draftPath, { forwarded_id: foreign.id })).status, 400, 'a message of another inbox')
  const shown = (await api.get(draftPath)).body.draft
  assert.equal((await api.patch(draftPath, { ...shown, send_at })).body.draft.forwarded_id, original.id)
  box.clock.advance(HOUR_MS + 1)
  const [sent] = await eventually('it is sent', async () => {
    const found = await sentFrom(account, inboxId)
    return found.length === 1 && found
  })
  assert.equal(sent!.subject, 'Fwd: Plans')

  const plain = await create(account, inboxId, { forwarded_id: original.id })
  assert.equal(plain.forwarded_id, original.id)
  const reply = await api.patch(`/v1/drafts/${plain.id}`, { reply_to_id: original.id })
  assert.deepEqual([reply.body.draft.reply_to_id, reply.body.draft.forwarded_id], [original.id, null])
  const none = await create(account, inboxId, { forwarded_id: original.id })
  assert.equal((await api.patch(`/v1/drafts/${none.id}`, { forwarded_id: null })).body.draft.forwarded_id, null)
})

test('with send_at the same idempotency key gives one draft, however often and at once; another body is a conflict', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const original = await aFiledMessage(box, inboxId, { subject: 'Plans' })
  const body = { to: ['u@example.com'], text: 'x', send_at: await inAnHour() }
  for (const path of [
    `inboxes/${inboxId}/messages`,
    ...['reply', 'forward'].map(to => `inbox-messages/${original.id}/${to}`),
  ]) {
    const headers = { 'idempotency-key': unique('key') }
    const answers = await Promise.all(Array.from({ length: 4 }, () => api.post(`/v1/${path}`, body, headers)))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202])
    const [first] = answers.filter(answer => !answer.body.duplicate)
    assert.equal(answers.filter(answer => answer.body.duplicate).length, 3, path)
    for (const answer of answers) assert.deepEqual({ ...answer.body, duplicate: false }, first!.body)
    const other = await api.post(`/v1/${path}`, { ...body, text: 'y' }, headers)
    assert.deepEqual([other.status, other.body.error?.code], [409, 'idempotency_conflict'])
    const now = await api.post(`/v1/${path}`, { to: body.to, text: 'x' }, headers)
    assert.deepEqual([now.status, now.body.error?.code], [409, 'idempotency_conflict'], 'the same mail, sent at once')
  }
  assert.equal((await api.get(`/v1/inboxes/${inboxId}/drafts`)).body.drafts.length, 3)
})

test('an idempotency key of a scheduled mail is answered after it was sent, and is forgotten after 24 hours', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const headers = { 'idempotency-key': unique('key') }
  const body = { to: ['u@example.com'], text: 'x', send_at: await inAnHour() }
  const post = (fields: object = {}) => api.post(`/v1/inboxes/${inboxId}/messages`, { ...body, ...fields }, headers)
  const first = await post()
  assert.equal(first.status, 202, JSON.stringify(first.body))
  box.clock.advance(HOUR_MS + 1)
  await eventually('it is sent', async () => (await sentFrom(account, inboxId)).length === 1)
  const again = await post()
  assert.deepEqual([again.status, again.body], [202, { ...first.body, duplicate: true }])
  box.clock.advance(24 * HOUR_MS)
  assert.equal((await post()).status, 400, 'its time is over')
  const later = await post({ send_at: await inAnHour() })
  assert.deepEqual([later.status, later.body.duplicate], [202, false])
})

test('a draft that is due while its inbox is paused waits; one that is refused becomes a plain one that says why', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const send_at = await inAnHour()
  const waits = await create(account, inboxId, { to: ['u@example.com'], subject: unique('waits'), text: 'x', send_at })
  await api.patch(`/v1/inboxes/${inboxId}`, { status: 'paused' })
  box.clock.advance(HOUR_MS + 1)
  const tried = await eventually('it was tried', async () => {
    const { draft } = (await api.get(`/v1/drafts/${waits.id}`)).body
    return draft.last_error && draft
  })
  assert.equal(tried.scheduled_at, send_at)
  await api.patch(`/v1/inboxes/${inboxId}`, { status: 'active', policy: { allow_recipients: ['elsewhere.example'] } })
  box.clock.advance(66_001)
  const refused = await eventually('it is refused', async () => {
    const { draft } = (await api.get(`/v1/drafts/${waits.id}`)).body
    return draft.scheduled_at === null && draft
  })
  assert.match(refused.last_error, /example\.com/)
  assert.equal((await sentFrom(account, inboxId)).length, 0)
})

test('one that is being sent can be neither changed nor called back, and is sent when its worker died', async () => {
  const { account, inboxId } = await aMailbox()
  const { api, box } = account
  const { db } = box.app.world
  const draft = await create(account, inboxId, { to: ['u@example.com'], text: 'x', send_at: await inAnHour() })
  await db.transact(system('test'), tx =>
    tx.run(sql`update drafts set lease_token = gen_random_uuid(), due_at = ${tx.now}::timestamptz + interval '60 seconds'
      where id = ${draft.id}`),
  )
  for (const call of [
    () => api.post(`/v1/drafts/${draft.id}/cancel`),
    () => api.post(`/v1/drafts/${draft.id}/send`),
    () => api.patch(`/v1/drafts/${draft.id}`, {}),
    () => api.delete(`/v1/drafts/${draft.id}`),
  ]) {
    assert.equal((await call()).status, 409)
  }
  box.clock.advance(61_000)
  await eventually('another worker sends it', async () => (await sentFrom(account, inboxId)).length === 1)
})
