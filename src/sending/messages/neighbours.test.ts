// What one account sends costs another neither an error nor its turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { longestTurn } from '../../../test/support/main-thread.ts'
import { Gate } from './gate.ts'
import type { Submission } from './submission.ts'

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

test('accepting ten thousand recipients holds the main thread for a moment at a time', async () => {
  const account = await aSandbox()
  await withoutRecipientLimit(account)
  const wanted = message(account, { to: many(RECIPIENTS_MAX) })
  await account.api.post('/v1/messages', message(account))
  let status = 0

  const longestMs = await longestTurn(async () => {
    ;({ status } = await account.api.post('/v1/messages', wanted))
  })

  assert.equal(status, 202)
  assert.ok(longestMs < 250, `the main thread was held for ${longestMs.toFixed(0)} ms`)
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
