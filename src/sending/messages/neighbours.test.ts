// What one account sends costs another neither an error nor its turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallRoute } from '../../platform/http/contract.ts'
import type { Database, Tx } from '../../platform/db/database.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { bestOfThree, longestTurn } from '../../../test/support/main-thread.ts'
import { Gate } from './gate.ts'
import { prepareLarge } from './prepare.ts'
import { messageRoutes } from './routes.ts'
import type { CompanionKeeper, Submission } from './submission.ts'

const RECIPIENTS_MAX = 10_000

const message = (account: TestAccount, fields: object = {}): object => ({
  tenant_id: account.tenant.id,
  from: 'hello@acme.example',
  to: ['someone@example.com'],
  subject: 'Hello',
  text: 'Hello there.',
  ...fields,
})

const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `someone.${n}@example.com`)

const aSandbox = () => anAccount({ sandbox: true })

async function withoutRecipientLimit(account: TestAccount): Promise<void> {
  const { status } = await account.api.patch(`/v1/tenants/${account.tenant.id}`, {
    max_recipients_per_message: 2_147_483_647,
  })
  assert.equal(status, 200)
}

test('a message of 100,000 recipients is refused, and the mail of others in the same moment is accepted', async () => {
  const [hostile, victim] = await Promise.all([aSandbox(), aSandbox()])
  await withoutRecipientLimit(hostile)

  const [refused, ...accepted] = await Promise.all([
    hostile.api.post('/v1/messages', message(hostile, { bcc: many(100_000) })),
    ...Array.from({ length: 50 }, () => victim.api.post('/v1/messages', message(victim))),
  ])

  assert.equal(refused.status, 422)
  assert.equal(refused.body.error.code, 'too_many_recipients')
  assert.deepEqual([...new Set(accepted.map(reply => reply.status))], [202])
})

test('at most 10,000 recipients, whatever the tenant may; the same address twice counts once', async () => {
  const account = await aSandbox()
  await withoutRecipientLimit(account)

  const over = await account.api.post('/v1/messages', message(account, { to: many(RECIPIENTS_MAX + 1) }))
  const spelled = await account.api.post(
    '/v1/messages',
    message(account, { to: many(RECIPIENTS_MAX), bcc: many(RECIPIENTS_MAX) }),
  )

  assert.equal(over.body.error.code, 'too_many_recipients')
  assert.deepEqual([spelled.status, spelled.body.queued], [202, RECIPIENTS_MAX])
  const { events } = (await account.api.get(`/v1/events?message_id=${spelled.body.message_id}&limit=1`)).body
  assert.equal(events.length, 1)
})

test('300,000 recipients are refused with 422 before any address is parsed', async () => {
  const account = await aSandbox()
  const wanted = message(account, { to: many(100_000), cc: many(100_000), bcc: ['not an address', ...many(99_999)] })

  const { status, body } = await account.api.post('/v1/messages', wanted)

  assert.deepEqual([status, body.error.code], [422, 'too_many_recipients'])
})

/** A request of the account's own key, as a handler is given it. */
const callOf = (account: TestAccount, body: object) => ({
  by: aSubmission(account, 0).by,
  caller: { keyId: null, reach: { accountId: account.id, tenantId: null } },
  body,
  headers: {},
})

test('too many recipients for the tenant are refused before the message is composed or reaches the gate', async () => {
  const account = await aSandbox()
  const reached: Submission[] = []
  const gate = { submit: async (submission: Submission) => void reached.push(submission) }
  const [sendRoute] = messageRoutes(account.box.app.world, gate as unknown as Gate, () => 'https://sluice.test')
  const send = (body: object) => Promise.resolve((sendRoute as CallRoute).handle(callOf(account, body) as never))
  const allowed = many(1_000)

  await assert.rejects(send(message(account, { bcc: many(RECIPIENTS_MAX) })), { code: 'too_many_recipients' })
  await assert.rejects(send(message(account, { to: many(1_001) })), { code: 'too_many_recipients' })
  assert.equal(reached.length, 0)
  // What counts is the address, however it is written and however often.
  const written = [...allowed.map(text => `Some One <${text.replace('example', 'EXAMPLE')}>`), ...allowed]
  await send(message(account, { to: written, cc: allowed }))
  assert.equal(reached[0]!.recipients.length, 1_000)
})

test('half a million copies of one address are one recipient, named once, and take a moment at a time', async () => {
  const account = await aSandbox()
  const to = Array.from({ length: 500_000 }, () => 'someone@example.com')
  const order = { body: { from: 'a@acme.example', to, text: 'x' }, accountId: account.id, tenantId: account.tenant.id }
  const by = aSubmission(account, 1).by
  const whole = { ...order, apiKeyId: null, idempotencyKey: null, now: new Date(), by, publicUrl: '' }
  let prepared: Submission
  const prepare = async () => {
    prepared = (await prepareLarge(account.box.app.world, whole, [account.id])).submission
  }
  const longestMs = await bestOfThree(50, () => longestTurn(prepare))

  assert.equal(prepared!.recipients.length, 1)
  assert.equal(prepared!.source.toString().split('someone@example.com').length, 2)
  assert.ok(longestMs < 50, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})

test('recipients of a message that has too many are not looked up by the gate', async () => {
  const account = await aSandbox()
  const { world } = account.box.app
  const lookedUp: string[] = []
  const noted = (tx: Tx): Tx =>
    new Proxy(tx, {
      get: (target, name) => {
        if (name !== 'many') return bound(target, name)
        return (query: Sql) => {
          const { text, values } = query.toQuery()
          if (text.includes('join suppressions')) lookedUp.push(JSON.stringify(values))
          return target.many(query)
        }
      },
    })
  const transact: Database['transact'] = (by, recipe) => world.db.transact(by, tx => recipe(noted(tx)))
  const db = new Proxy(world.db, { get: (target, name) => (name === 'transact' ? transact : bound(target, name)) })
  const gate = new Gate({ ...world, db })
  const recipients = many(1_001).map(address => ({ address, domain: 'example.com', kind: 'to' as const }))

  await assert.rejects(gate.submit({ ...aSubmission(account, 1), recipients }), { code: 'too_many_recipients' })
  await gate.submit({ ...aSubmission(account, 2), recipients: recipients.slice(1) })

  assert.equal(lookedUp.length, 1)
  assert.ok(lookedUp[0]!.includes('someone.1@') && !lookedUp[0]!.includes('someone.0@'))
})

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target)
  return typeof value === 'function' ? value.bind(target) : value
}

test('a submission that cannot be stored fails alone', async () => {
  const [broken, sound] = await Promise.all([aSandbox(), aSandbox()])
  const gate = new Gate(broken.box.app.world)
  const results = await Promise.allSettled([
    gate.submit(aSubmission(sound, 1)),
    gate.submit({ ...aSubmission(broken, 2), credentialId: 'not a uuid' }),
    gate.submit(aSubmission(sound, 3)),
  ])

  assert.deepEqual(
    results.map(result => result.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const rows = await sound.box.app.world.db.many(sql`select id from messages where account_id = ${sound.id}`)
  assert.equal(rows.length, 2)
})

test('rows of other doors weigh in a batch by what they cost, and costly ones are stored apart', async () => {
  const [costly, small] = await Promise.all([aSandbox(), aSandbox()])
  const gate = new Gate(costly.box.app.world)
  const batches: number[] = []
  const keeper: CompanionKeeper = {
    lock: async (_tx, companions) => {
      batches.push(companions.length)
      return { isLocked: () => true, admit: () => ({ kind: 'send' }), store: async () => {} }
    },
  }
  const answered: string[] = []
  const submit = async (name: string, submission: Submission): Promise<void> => {
    await gate.submit(submission)
    answered.push(name)
  }
  const submitting = (cost: number, count: number): Promise<void>[] =>
    Array.from({ length: count }, (_, n) =>
      submit('costly', { ...aSubmission(costly, n), companion: { lockKey: String(n), keeper, cost } }),
    )

  await Promise.all(submitting(90, 20))
  assert.deepEqual(batches, [5, 5, 5, 5])

  answered.length = 0
  await Promise.all([...submitting(1_000, 6), submit('small', aSubmission(small, 1))])
  assert.ok(answered.indexOf('small') < 5, answered.join(', '))
})

function aSubmission(account: TestAccount, number: number): Submission {
  const { clock } = account.box
  return {
    messageId: newId(clock.now()),
    accountId: account.id,
    tenantId: account.tenant.id,
    apiKeyId: null,
    credentialId: null,
    sender: 'hello@acme.example',
    senderDomain: 'acme.example',
    fromHeader: 'hello@acme.example',
    recipients: [{ address: `r${number}@example.com`, domain: 'example.com', kind: 'to' }],
    subject: null,
    rfcMessageId: `<${number}@acme.example>`,
    tags: [],
    metadata: {},
    source: Buffer.from('Subject: x\r\n\r\nx\r\n'),
    needsSmtputf8: false,
    hasUnsubscribe: false,
    idempotency: null,
    by: { type: 'system', id: null, name: 'test', ip: null, requestId: null, action: null },
  }
}

test('accepting ten thousand recipients blocks the main thread for a moment at a time', async () => {
  const account = await aSandbox()
  await withoutRecipientLimit(account)
  const wanted = message(account, { to: many(RECIPIENTS_MAX) })
  await account.api.post('/v1/messages', message(account))
  let status = 0

  const longestMs = await longestTurn(async () => {
    ;({ status } = await account.api.post('/v1/messages', wanted))
  })

  assert.equal(status, 202)
  assert.ok(longestMs < 250, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})

test('a message of an account with a thousand pauses is matched with the one that stops it', async () => {
  const account = await aSandbox()
  const { db } = account.box.app.world
  await db.many(sql`
    insert into suspensions (id, account_id, scope_type, scope_value, queue_action, source, created_by, created_at, held_since)
    select gen_random_uuid(), ${account.id}, 'rule', 'tag:t' || n, 'hold', 'api', 'test', now(), now()
    from generate_series(1, 999) as n`)
  const last = { scope_type: 'rule', scope_value: 'tag:wanted' }
  assert.equal((await account.api.post('/v1/suspensions', last)).status, 201)

  const { status, body } = await account.api.post('/v1/messages', message(account, { tags: ['free', 'wanted'] }))
  const beyond = await account.api.post('/v1/suspensions', { scope_type: 'rule', scope_value: 'tag:one-more' })
  const again = await account.api.post('/v1/suspensions', last)
  const operators = await account.box.operator.post(`/admin/v1/accounts/${account.id}/pause`)

  assert.deepEqual([status, body.held, body.hold_scope], [202, 1, 'rule:tag:wanted'])
  assert.deepEqual([beyond.status, beyond.body.error.code], [409, 'conflict'])
  assert.equal(again.status, 200)
  assert.equal(operators.status, 200)
})

test('a field of 12 MB is refused in a moment, whichever it is', async () => {
  const account = await aSandbox()
  const long = 'a'.repeat(12_000_000)
  const fields: Record<string, object> = {
    tag: { tags: [long] },
    'metadata value': { metadata: { a: long } },
    'metadata name': { metadata: { [long]: 'a' } },
    subject: { subject: long },
    'header name': { headers: { [long]: 'a' } },
    'header value': { headers: { 'X-A': long } },
    filename: { attachments: [{ content: 'YQ==', filename: long }] },
    'content type': { attachments: [{ content: 'YQ==', content_type: long }] },
    'content id': { attachments: [{ content: 'YQ==', content_id: long }] },
  }
  for (const [name, extra] of Object.entries(fields)) {
    const body = message(account, extra)
    let status = 0
    const tookMs = await longestTurn(async () => {
      status = (await account.api.post('/v1/messages', body)).status
    })
    assert.equal(status, 422, name)
    // The client of this test writes 12 MB of JSON on the same thread.
    assert.ok(tookMs < 250, `${name} blocked the main thread for ${tookMs} ms`)
  }
})

test('a page of messages with much metadata ends early, and the pages together hold all of them once', async () => {
  const account = await aSandbox()
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`name${n}`, '😀'.repeat(500)]))
  const sent: string[] = []
  for (let n = 0; n < 25; n++) {
    const { status, body } = await account.api.post('/v1/messages', message(account, { metadata }))
    assert.equal(status, 202)
    sent.unshift(body.message_id)
  }
  const seen: string[] = []
  for (let cursor = ''; ;) {
    const { body } = await account.api.get(`/v1/messages?limit=500${cursor && `&cursor=${cursor}`}`)
    assert.ok(body.messages.length > 0)
    assert.ok(JSON.stringify(body).length < 2_000_000)
    for (const { id } of body.messages) seen.push(id)
    if (body.next_cursor === null) break
    cursor = body.next_cursor
  }
  assert.deepEqual(seen, sent)
})
