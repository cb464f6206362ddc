// POST /v1/messages, sentence by sentence.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../platform/db/sql.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, aTenant, eventually, type TestAccount } from '../../../test/support/factories.ts'

const message = (account: TestAccount, fields: object = {}): object => ({
  tenant_id: account.tenant.id,
  from: 'Acme <hello@acme.example>',
  to: ['someone@example.com'],
  subject: 'Hello',
  text: 'Hello there.',
  ...fields,
})

const aSandbox = () => anAccount({ sandbox: true })

test('a message is accepted with 202, and can be read with the state of each recipient', async () => {
  const account = await aSandbox()

  const { status, body } = await account.api.post(
    '/v1/messages',
    message(account, { cc: ['b@example.com'], bcc: ['c@example.com'] }),
  )

  assert.equal(status, 202)
  assert.deepEqual(body, { message_id: body.message_id, queued: 3, held: 0, suppressed: 0, duplicate: false })
  const read = await account.api.get(`/v1/messages/${body.message_id}`)
  assert.equal(read.body.from, 'Acme <hello@acme.example>')
  assert.deepEqual(
    read.body.deliveries.map((each: { recipient: string; kind: string }) => [each.recipient, each.kind]),
    [
      ['someone@example.com', 'to'],
      ['b@example.com', 'cc'],
      ['c@example.com', 'bcc'],
    ],
  )
})

test('recipients are normalised and counted once over to, cc and bcc', async () => {
  const account = await aSandbox()
  const { body } = await account.api.post(
    '/v1/messages',
    message(account, { to: ['A <a@EXAMPLE.com>', 'a@example.com'], cc: ['a@example.com'], bcc: ['ü@bücher.example'] }),
  )
  assert.equal(body.queued, 2)
  const read = await account.api.get(`/v1/messages/${body.message_id}`)
  assert.deepEqual(
    read.body.deliveries.map((each: { recipient: string }) => each.recipient),
    ['a@example.com', 'ü@xn--bcher-kva.example'],
  )
})

test('what is well-formed but cannot be sent answers 422 and stores nothing', async () => {
  const account = await aSandbox()
  const cases: [object, string][] = [
    [{ to: [] }, 'invalid_message'],
    [{ to: ['nonsense'] }, 'invalid_message'],
    [{ to: [`${'x'.repeat(2_000)}@example.com`] }, 'invalid_message'],
    [{ to: ['a@example.com, b@example.com'] }, 'invalid_message'],
    [{ to: ['a@example.com\r\nBcc: x@example.com'] }, 'invalid_message'],
    [{ from: 'nobody' }, 'invalid_message'],
    [{ from: 'a@b.example\nX: y' }, 'invalid_message'],
    [{ reply_to: 'a@b.example\nX: y' }, 'invalid_message'],
    [{ subject: 'a\r\nBcc: x@example.com' }, 'invalid_message'],
    [{ subject: 'a\u0000b' }, 'invalid_message'],
    [{ subject: 'x'.repeat(999) }, 'invalid_message'],
    [{ headers: { 'X-A': 'a\nb' } }, 'invalid_message'],
    [{ headers: { 'X A': 'b' } }, 'invalid_message'],
    [{ headers: { From: 'a@b.example' } }, 'invalid_message'],
    [{ headers: { 'Content-Type': 'text/html' } }, 'invalid_message'],
    [{ headers: { 'Reply-To': 'nonsense' } }, 'invalid_message'],
    [{ headers: { 'Reply-To': 'a@b.example, c@b.example' } }, 'invalid_message'],
    [{ headers: { 'Reply-To': 'a@b.example', 'reply-to': 'a@b.example' } }, 'invalid_message'],
    [{ headers: { 'Reply-To': 'a@b.example' }, reply_to: 'a@b.example' }, 'invalid_message'],
    [{ headers: { 'authentication-results': 'mx.example; dkim=pass' } }, 'invalid_message'],
    [{ headers: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`X-${n}`, ''])) }, 'invalid_message'],
    [{ tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }, 'invalid_message'],
    [{ tags: Array.from({ length: 1_001 }, (_, n) => `t${n}`) }, 'invalid_message'],
    [{ headers: Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`X-${n}`, ''])) }, 'invalid_message'],
    [{ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, ''])) }, 'invalid_message'],
    [{ metadata: Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`k${n}`, ''])) }, 'invalid_message'],
    [{ attachments: Array.from({ length: 1_001 }, () => ({ content: '' })) }, 'invalid_message'],
    [{ tags: ['x'.repeat(129)] }, 'invalid_message'],
    [{ metadata: { ['x'.repeat(41)]: 'y' } }, 'invalid_message'],
    [{ metadata: { x: 'y'.repeat(501) } }, 'invalid_message'],
    [{ text: 'x'.repeat(10 * 1024 * 1024), html: 'y' }, 'invalid_message'],
    [{ attachments: [{ content: 'not base64!' }] }, 'invalid_message'],
    [{ attachments: [{ content: 'QUJD', content_id: 'a b' }] }, 'invalid_message'],
    [{ attachments: [{ content: 'QUJD', filename: 'a\r\nb' }] }, 'invalid_message'],
    [{ attachments: [{ content: Buffer.alloc(26_214_401).toString('base64') }] }, 'attachments_too_large'],
    [{ to: Array.from({ length: 1001 }, (_, n) => `u${n}@example.com`) }, 'too_many_recipients'],
  ]
  for (const [fields, code] of cases) {
    const { status, body } = await account.api.post('/v1/messages', message(account, fields))
    assert.equal(status, 422, `${JSON.stringify(fields).slice(0, 80)}: ${JSON.stringify(body)}`)
    assert.equal(body.error.code, code)
  }
  assert.deepEqual((await account.api.get('/v1/messages')).body.messages, [])
})

test('wrong types and missing from or to answer 400', async () => {
  const account = await aSandbox()
  for (const fields of [
    { from: undefined },
    { to: undefined },
    { to: 'a@example.com' },
    { tags: 'x' },
    { metadata: { a: 1 } },
    { attachments: [{}] },
    { tenant_id: undefined },
  ]) {
    assert.equal((await account.api.post('/v1/messages', message(account, fields))).status, 400, JSON.stringify(fields))
  }
})

test('an account that is no sandbox may send from verified domains only', async () => {
  const account = await anAccount()
  const { status, body } = await account.api.post('/v1/messages', message(account))
  assert.equal(status, 422)
  assert.equal(body.error.code, 'domain_not_verified')
})

test('a disabled tenant cannot send, and its messages can still be read', async () => {
  const account = await aSandbox()
  await account.api.patch(`/v1/tenants/${account.tenant.id}`, { status: 'disabled' })
  const { status, body } = await account.api.post('/v1/messages', message(account))
  assert.equal(status, 403)
  assert.equal(body.error.code, 'tenant_disabled')
  assert.equal((await account.api.get('/v1/messages')).status, 200)
})

test('the same key and body send once; another body is a conflict; tenants are independent', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const send = (fields: object, key: string) =>
    account.api.post('/v1/messages', message(account, fields), { 'idempotency-key': key })

  const first = await send({}, 'k1')
  const again = await send({}, 'k1')
  const other = await send({ subject: 'Other' }, 'k1')
  const elsewhere = await send({ tenant_id: account.tenants[1]!.id }, 'k1')
  const asField = await account.api.post('/v1/messages', message(account, { idempotency_key: 'k1' }))
  const both = await send({ idempotency_key: 'k2' }, 'k1')

  assert.deepEqual(again.body, { ...first.body, duplicate: true })
  assert.equal(other.status, 409)
  assert.equal(other.body.error.code, 'idempotency_conflict')
  assert.equal(elsewhere.body.duplicate, false)
  assert.deepEqual(asField.body, { ...first.body, duplicate: true })
  assert.equal(both.status, 400)
  assert.equal((await account.api.get('/v1/messages')).body.messages.length, 2)
})

test('a key beyond ASCII is the same in the header, where it travels as bytes, and in the field', async () => {
  const account = await aSandbox()
  const inHeader = Buffer.from('Schlüssel-ö').toString('latin1')
  const first = await account.api.post('/v1/messages', message(account), { 'idempotency-key': inHeader })
  const again = await account.api.post('/v1/messages', message(account, { idempotency_key: 'Schlüssel-ö' }))
  assert.deepEqual(again.body, { ...first.body, duplicate: true })
  const ofLength = (length: number, character: string) =>
    account.api.post('/v1/messages', message(account), {
      'idempotency-key': Buffer.from(character.repeat(length)).toString('latin1'),
    })
  for (const character of ['ü', '😀']) {
    assert.equal((await ofLength(255, character)).status, 202)
    assert.equal((await ofLength(256, character)).status, 400)
  }
})

test('a hundred concurrent twins in two processes make one message', async t => {
  const account = await aSandbox()
  const other = await aBox({ until: t, databaseUrl: account.box.databaseUrl })
  const clients = [account.api, other.client(account.bearer)]

  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      clients[n % 2]!.post('/v1/messages', message(account), { 'idempotency-key': 'twin' }),
    ),
  )

  assert.equal(new Set(replies.map(reply => reply.body.message_id)).size, 1)
  assert.equal(replies.filter(reply => reply.body.duplicate === false).length, 1)
  assert.equal((await account.api.get('/v1/messages')).body.messages.length, 1)
  await other.close()
})

test('an idempotency key is forgotten after 24 hours', async t => {
  const account = await anAccount({ sandbox: true, box: await aBox({ until: t }) })
  const send = () => account.api.post('/v1/messages', message(account, { idempotency_key: 'k' }))
  await send()
  account.box.clock.advance(24 * 3_600_000 + 1000)
  assert.equal((await send()).body.duplicate, false)
  assert.equal((await send()).body.duplicate, true)
})

test('quotas and rates are exact while many clients of several processes race', async t => {
  const account = await aSandbox()
  const other = await aBox({ until: t, databaseUrl: account.box.databaseUrl })
  const clients = [account.api, other.client(account.bearer)]
  for (const [limit, code] of [
    ['quota_daily', 'quota_exceeded'],
    ['quota_monthly', 'quota_exceeded'],
    ['rate_per_hour', 'rate_limited'],
  ] as const) {
    const tenant = await aTenant(account.api, { [limit]: 50 })
    const replies = await Promise.all(
      Array.from({ length: 80 }, (_, n) =>
        clients[n % 2]!.post('/v1/messages', message(account, { tenant_id: tenant.id })),
      ),
    )
    const refused = replies.filter(reply => reply.status !== 202)
    assert.equal(replies.length - refused.length, 50, limit)
    assert.ok(refused.every(reply => reply.status === 429 && reply.body.error.code === code))
    assert.ok(refused.every(reply => Number(reply.headers.get('retry-after')) >= 1))
  }
  await other.close()
})

test('a message that does not fit whole is refused whole, and a limit of 0 lets nothing through', async () => {
  const account = await aSandbox()
  const tenant = await aTenant(account.api, { quota_daily: 3 })
  const to = (count: number) =>
    message(account, { tenant_id: tenant.id, to: Array.from({ length: count }, (_, n) => `u${n}@example.com`) })

  assert.equal((await account.api.post('/v1/messages', to(2))).status, 202)
  assert.equal((await account.api.post('/v1/messages', to(2))).status, 429)
  assert.equal((await account.api.post('/v1/messages', to(1))).status, 202)
  await account.api.patch(`/v1/tenants/${tenant.id}`, { quota_daily: 0 })
  assert.equal((await account.api.post('/v1/messages', to(1))).status, 429)
})

test('the minute, hour, day and month begin anew on the UTC clock', async t => {
  const account = await anAccount({ sandbox: true, box: await aBox({ until: t }) })
  const { clock } = account.box
  const sends = async (fields: object): Promise<number> =>
    (await account.api.post('/v1/messages', message(account, fields))).status
  const cases = [
    ['rate_per_minute', '2026-01-31T23:58:59.900Z', 200],
    ['rate_per_hour', '2026-01-31T22:59:59.900Z', 200],
    ['quota_daily', '2026-01-30T23:59:59.900Z', 200],
    ['quota_monthly', '2026-01-31T23:59:59.800Z', 400],
  ] as const
  for (const [limit, time, stepMs] of cases) {
    const tenant = await aTenant(account.api, { [limit]: 1 })
    clock.set(new Date(Date.parse(time) - 60_000))
    assert.equal(await sends({ tenant_id: tenant.id, to: ['a@example.com', 'b@example.com'] }), 429, limit)
    assert.equal(await sends({ tenant_id: tenant.id }), 202, limit)
    if (limit !== 'rate_per_minute') assert.equal(await sends({ tenant_id: tenant.id }), 429, limit)
    clock.set(new Date(Date.parse(time) + stepMs))
    assert.equal(await sends({ tenant_id: tenant.id }), 202, limit)
  }
})

test('the stored source is the message, without Bcc, and one accepted event stands for each recipient', async () => {
  const account = await aSandbox()
  const { body } = await account.api.post(
    '/v1/messages',
    message(account, { bcc: ['hidden@example.com'], headers: { 'X-Campaign': 'spring' } }),
  )
  const { source } = await account.box.app.world.db.one<{ source: Buffer }>(
    sql`select source from message_bodies where message_id = ${body.message_id}`,
  )
  const text = source.toString()
  assert.match(text, /^From: Acme <hello@acme\.example>\r\nTo: someone@example\.com\r\n/)
  assert.match(text, /^X-Campaign: spring\r$/m)
  assert.ok(!text.includes('hidden'))
  const events = await account.api.get(`/v1/events?message_id=${body.message_id}&type=accepted`)
  assert.equal(events.body.events.length, 2)
})

test('messages are listed newest first with counts, filtered, and paged without gap or repeat', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  for (let n = 0; n < 5; n++) {
    await account.api.post(
      '/v1/messages',
      message(account, {
        to: [`u${n}@example.com`, 'all@example.com'],
        from: n % 2 ? 'odd@acme.example' : 'even@acme.example',
      }),
    )
  }
  await account.api.post('/v1/messages', message(account, { tenant_id: account.tenants[1]!.id }))
  const list = async (query: string) => (await account.api.get(`/v1/messages?${query}`)).body

  assert.equal((await list('')).messages.length, 6)
  assert.equal((await list(`tenant_id=${account.tenant.id}`)).messages.length, 5)
  assert.equal((await list('from=odd@acme.example')).messages.length, 2)
  assert.equal((await list('recipient=u3@example.com')).messages.length, 1)
  assert.equal((await list('recipient=ALL@example.com')).messages.length, 0)
  assert.equal((await list('recipient=all@EXAMPLE.com')).messages.length, 5)
  assert.equal((await list('since=2099-01-01T00:00:00Z')).messages.length, 0)
  assert.equal((await list('before=2099-01-01T00:00:00Z')).messages.length, 6)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await list(`limit=2${cursor && `&cursor=${cursor}`}`)
    seen.push(...page.messages.map((each: { id: string }) => each.id))
    cursor = page.next_cursor
  }
  assert.equal(new Set(seen).size, 6)
  assert.deepEqual(seen, seen.toSorted().toReversed())
})

test('lists by time mean the time that is shown: since includes it, before does not, and pages by before end', async () => {
  const account = await aSandbox()
  for (let n = 0; n < 12; n++) await account.api.post('/v1/messages', message(account, { subject: `p${n}` }))
  const listed = async (query: string): Promise<{ subject: string; created_at: string }[]> =>
    (await account.api.get(`/v1/messages?${query}`)).body.messages
  const all = await listed('limit=50')
  assert.equal(all.length, 12)
  for (const { subject, created_at: at } of all) {
    assert.ok((await listed(`since=${at}`)).some(each => each.subject === subject))
    assert.ok((await listed(`until=${at}`)).some(each => each.subject === subject))
    assert.ok((await listed(`before=${at}`)).every(each => each.created_at < at))
  }
})

test('that a tenant cannot send is said before what is wrong with the message', async () => {
  const account = await aSandbox()
  const wrong = message(account, { to: ['nope'] })
  assert.equal((await account.api.post('/v1/messages', wrong)).status, 422)
  assert.equal((await account.api.post('/v1/messages', { ...wrong, tenant_id: crypto.randomUUID() })).status, 404)
  await account.api.patch(`/v1/tenants/${account.tenant.id}`, { status: 'disabled' })
  const { status, body } = await account.api.post('/v1/messages', wrong)
  assert.deepEqual([status, body.error.code], [403, 'tenant_disabled'])
})

test('the same body in another order, inside too, is the same body', async () => {
  const account = await aSandbox()
  const send = (metadata: object) =>
    account.api.post('/v1/messages', message(account, { metadata, idempotency_key: 'k1' }))
  const first = await send({ a: '1', b: '2' })
  const second = await send({ b: '2', a: '1' })
  assert.deepEqual([second.status, second.body.duplicate], [202, true])
  assert.equal(second.body.message_id, first.body.message_id)
  assert.equal((await send({ b: '2', a: '2' })).status, 409)
})

test('Reply-To among the headers is taken as reply_to, in any spelling', async () => {
  const account = await aSandbox()
  for (const fields of [{ reply_to: 'Ann <ann@example.com>' }, { headers: { 'REPLY-to': 'Ann <ann@example.com>' } }]) {
    const { status, body } = await account.api.post('/v1/messages', message(account, fields))
    assert.equal(status, 202, JSON.stringify(body))
    const { source } = await account.box.app.world.db.one<{ source: Buffer }>(
      sql`select source from message_bodies where message_id = ${body.message_id}`,
    )
    assert.deepEqual(source.toString().match(/^reply-to:.*$/gim), ['Reply-To: Ann <ann@example.com>'])
  }
})

test('an address in reply_to that needs SMTPUTF8 makes the message need it', async () => {
  const account = await aSandbox()
  const { body } = await account.api.post('/v1/messages', message(account, { reply_to: 'пример@example.com' }))
  const { needs } = await account.box.app.world.db.one<{ needs: boolean }>(
    sql`select needs_smtputf8 as needs from messages where id = ${body.message_id}`,
  )
  assert.equal(needs, true)
})

test('a header may be called like anything that objects have; List-Unsubscribe is written once', async () => {
  const account = await aSandbox()
  const send = (fields: object) => account.api.post('/v1/messages', message(account, fields))
  assert.equal((await send({ headers: { constructor: 'x', toString: 'y' } })).status, 202)
  const own = { headers: { 'list-unsubscribe': '<https://acme.example/u>' } }
  assert.equal((await send(own)).status, 202)
  assert.equal((await send({ ...own, unsubscribe: true })).status, 422)
})

test('a header that is given twice, in two spellings, is refused: receivers would each believe another one', async () => {
  const account = await aSandbox()
  for (const [name, value] of [
    ['List-Unsubscribe', '<https://acme.example/u>'],
    ['In-Reply-To', '<a@b.example>'],
    ['References', '<a@b.example>'],
    ['Message-ID', '<a@b.example>'],
    ['X-Campaign', 'spring'],
  ] as const) {
    const headers = { [name]: value, [name.toLowerCase()]: value }
    const { status, body } = await account.api.post('/v1/messages', message(account, { headers }))
    assert.deepEqual([status, body.error?.code], [422, 'invalid_message'], name)
    assert.match(body.error.message, /more than once/)
  }
})

test('tags and metadata are counted in characters', async () => {
  const account = await aSandbox()
  const send = (fields: object) => account.api.post('/v1/messages', message(account, fields))
  assert.equal(
    (await send({ tags: ['😀'.repeat(128)], metadata: { ['😀'.repeat(40)]: '😀'.repeat(500) } })).status,
    202,
  )
  assert.equal((await send({ tags: ['😀'.repeat(129)] })).status, 422)
})

test('a recipient and a status asked for together are those of one recipient', async () => {
  const account = await aSandbox()
  const to = ['ann@example.com', 'bounce@example.com']
  const { body } = await account.api.post('/v1/messages', message(account, { to }))
  await eventually('both are decided', async () => {
    const { counts } = (await account.api.get(`/v1/messages/${body.message_id}`)).body
    return counts.delivered === 1 && counts.bounced === 1
  })
  const found = async (recipient: string, status: string): Promise<number> =>
    (await account.api.get(`/v1/messages?recipient=${recipient}&status=${status}`)).body.messages.length
  assert.deepEqual([await found(to[0]!, 'bounced'), await found(to[1]!, 'bounced')], [0, 1])
  assert.deepEqual([await found(to[0]!, 'delivered'), await found(to[1]!, 'queued')], [1, 0])
  const events = async (recipient: string): Promise<number> =>
    (await account.api.get(`/v1/events?recipient=${recipient}`)).body.events.length
  assert.equal(await events('ann@EXAMPLE.com'), 2)
})
