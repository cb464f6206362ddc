// Inboxes: create, list, get, update, delete.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import {
  anAccount,
  anInboundDomain,
  anInbox,
  eventually,
  unique,
  type TestAccount,
} from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'

let account: TestAccount
let domain: { id: string; name: string }

before(async () => {
  account = await anAccount({ tenants: 2 })
  const id = await anInboundDomain(account.api, account.tenant.id)
  domain = (await account.api.get('/v1/domains')).body.domains.find((each: { id: string }) => each.id === id)
})

const create = (body: object) =>
  account.api.post(`/v1/tenants/${account.tenant.id}/inboxes`, {
    domain_id: domain.id,
    local_part: unique('box'),
    ...body,
  })

test('an inbox is an address on a verified, inbound-enabled domain of the tenant', async () => {
  const created = await create({
    local_part: 'Support.Team',
    display_name: 'Support',
    policy: { block_senders: ['Spam@Example.COM', 'BAD.example', 'bad.example'], max_send_per_hour: 5 },
    metadata: { plan: 'gold', seats: 3, tags: ['a'] },
  })

  assert.equal(created.status, 201, JSON.stringify(created.body))
  const { id, created_at: _, ...inbox } = created.body
  assert.deepEqual(inbox, {
    tenant_id: account.tenant.id,
    domain_id: domain.id,
    address: `support.team@${domain.name}`,
    local_part: 'support.team',
    display_name: 'Support',
    status: 'active',
    policy: {
      shield_mode: 'observe',
      block_unauthenticated: false,
      allow_senders: [],
      block_senders: ['spam@example.com', 'bad.example'],
      dlp: 'off',
      max_send_per_hour: 5,
      allow_recipients: [],
      require_approval_on_taint: false,
    },
    metadata: { plan: 'gold', seats: 3, tags: ['a'] },
    provider: 'native',
    connection: null,
  })
  assert.deepEqual((await account.api.get(`/v1/inboxes/${id}`)).body, created.body)
  const { folders } = (await account.api.get(`/v1/inboxes/${id}/folders`)).body
  assert.deepEqual(
    folders.map(({ created_at: _at, ...folder }: { created_at: string }) => folder),
    ['inbox', 'sent', 'archive', 'spam', 'trash'].map(name => ({ name, system: true, total: 0, unread: 0 })),
  )
})

test('a domain that is not verified or takes no mail in is 409, an unknown or foreign one 404', async () => {
  const stranger = await anAccount()
  const dark = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, {
    name: `${unique('d')}.sluice.test`,
  })
  const unverified = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, {
    name: `${unique('d')}.example.com`,
  })
  for (const [domain_id, status, code] of [
    [dark.body.id, 409, 'conflict'],
    [unverified.body.id, 409, 'conflict'],
    [await anInboundDomain(stranger.api, stranger.tenant.id), 404, 'not_found'],
    [await anInboundDomain(account.api, account.tenants[1]!.id), 404, 'not_found'],
  ]) {
    const refused = await create({ domain_id })
    assert.equal(refused.status, status)
    assert.equal(refused.body.error.code, code)
  }
})

test('an address is given once, also to two who ask at once, and again after its inbox was deleted', async () => {
  const both = await Promise.all([create({ local_part: 'twin' }), create({ local_part: 'TWIN' })])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 409])
  const { body } = both.find(({ status }) => status === 201)!

  assert.equal((await account.api.delete(`/v1/inboxes/${body.id}`)).status, 204)

  assert.equal((await create({ local_part: 'twin' })).status, 201)
})

test('a local part is a dot-atom in ASCII of at most 64 characters without +', async () => {
  for (const local_part of [
    'a+b',
    'ö',
    '.a',
    'a.',
    'a..b',
    'a b',
    'a@b',
    '"a"',
    'a,b',
    '<a>',
    'a\r\nb',
    'x'.repeat(65),
    ' ',
    '=?a',
  ]) {
    const refused = await create({ local_part })
    assert.equal(refused.status, 400, JSON.stringify(local_part))
    assert.match(refused.body.error.message, /local_part/)
  }
  for (const local_part of ['postmaster', 'abuse', "o'neil_1-2=3", 'x'.repeat(64), ' trimmed ']) {
    assert.equal((await create({ local_part })).status, 201, local_part)
  }
})

test('a policy, metadata and a display name out of bounds are 400 and name the field', async () => {
  const long = Array.from({ length: 1001 }, (_, n) => `d${n}.example`)
  for (const [field, body] of [
    ['policy.allow_senders[1]', { policy: { allow_senders: ['fine.example', 'not an address'] } }],
    ['policy.block_senders', { policy: { block_senders: long } }],
    ['policy.allow_recipients[0]', { policy: { allow_recipients: ['@example.com'] } }],
    ['policy.shield_mode', { policy: { shield_mode: 'maybe' } }],
    ['policy.max_send_per_hour', { policy: { max_send_per_hour: -1 } }],
    ['metadata', { metadata: { a: Array(200).fill('ab') } }],
    ['metadata', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`n${n}`, 'x'])) }],
    ['metadata', { metadata: { a: 'x'.repeat(501) } }],
    ['metadata', { metadata: { ['x'.repeat(41)]: 'x' } }],
    ['display_name', { display_name: 'a\r\nBcc: b' }],
  ] as [string, object][]) {
    const refused = await create(body)
    assert.equal(refused.status, 400, field)
    assert.ok(refused.body.error.message.includes(field), refused.body.error.message)
  }
})

test('a star before a domain stands for all its addresses', async () => {
  const { status, body } = await create({ policy: { allow_recipients: ['*@Example.com', 'ann@other.example'] } })
  assert.equal(status, 201)
  assert.deepEqual(body.policy.allow_recipients, ['example.com', 'ann@other.example'])
})

test('an update merges the policy field by field, replaces metadata, and null clears the display name', async () => {
  const id = (await create({ display_name: 'A', metadata: { a: '1', b: '2' }, policy: { dlp: 'observe' } })).body.id
  const events = () =>
    account.box.app.world.db.many<{ data: object }>(
      sql`select data from events where inbox_id = ${id} and type = 'inbox.updated' order by id`,
    )

  const changed = await account.api.patch(`/v1/inboxes/${id}`, {
    display_name: null,
    status: 'paused',
    metadata: { c: '3' },
    policy: { shield_mode: 'enforce', block_senders: ['x.example'] },
  })

  assert.equal(changed.status, 200)
  assert.equal(changed.body.display_name, null)
  assert.equal(changed.body.status, 'paused')
  assert.deepEqual(changed.body.metadata, { c: '3' })
  assert.equal(changed.body.policy.dlp, 'observe')
  assert.equal(changed.body.policy.shield_mode, 'enforce')
  assert.deepEqual(changed.body.policy.block_senders, ['x.example'])
  const repeated = await account.api.patch(`/v1/inboxes/${id}`, { status: 'paused', metadata: { c: '3' } })
  assert.deepEqual(repeated.body, changed.body)
  assert.deepEqual((await account.api.get(`/v1/inboxes/${id}`)).body, changed.body)
  assert.deepEqual(
    (await events()).map(({ data }) => data),
    [{ changed: ['display_name', 'status', 'policy', 'metadata'], display_name: null, status: 'paused' }],
    'what changes nothing is no event',
  )
})

test('a list shows what the key reaches: an inbox key its own, a tenant key its tenant', async () => {
  const other = await anAccount({ tenants: 2 })
  const [mine, sibling] = [await anInbox(other), await anInbox(other)]
  const elsewhere = await anInbox(other, other.tenants[1]!.id)
  const idsOf = async (api: typeof other.api, query = '') =>
    (await api.get(`/v1/inboxes${query}`)).body.inboxes.map(({ id }: { id: string }) => id)

  assert.deepEqual(await idsOf(other.api), [elsewhere, sibling, mine])
  assert.deepEqual(await idsOf(other.api, `?tenant_id=${other.tenants[1]!.id}`), [elsewhere])
  assert.deepEqual(await idsOf(await other.withKey({ scopes: ['read'], tenant_id: other.tenant.id })), [sibling, mine])
  const ofInbox = await other.withKey({ scopes: ['read'], inbox_id: mine })
  assert.deepEqual(await idsOf(ofInbox), [mine])
  assert.equal((await ofInbox.get(`/v1/inboxes/${sibling}`)).status, 404)
  const first = await other.api.get('/v1/inboxes?limit=2')
  assert.deepEqual(await idsOf(other.api, `?limit=2&cursor=${first.body.next_cursor}`), [mine])
})

test('a deleted inbox is gone at once with its keys, and then with all that it held', async () => {
  const { db } = account.box.app.world
  const id = await anInbox(account)
  const ofInbox = await account.withKey({ scopes: ['read', 'send'], inbox_id: id })
  const { id: keyId } = await db.one<{ id: string }>(sql`select id from api_keys where inbox_id = ${id}`)
  const filed = await aFiledMessage(account.box, id, { attachments: [{ filename: 'a.txt', content: 'a' }] })
  await account.api.put(`/v1/inbox-messages/${filed.id}/labels`, { labels: ['x'] })
  await account.api.post(`/v1/inboxes/${id}/folders`, { name: 'Mine' })
  for (let n = 0; n < 25; n++) await account.api.post(`/v1/inboxes/${id}/drafts`, { text: 'x' })

  assert.equal((await account.api.delete(`/v1/inboxes/${id}`)).status, 204)

  assert.equal((await ofInbox.get('/v1/inboxes')).status, 401)
  const [entry] = (await account.api.get('/v1/audit?action=inbox.delete')).body.entries
  assert.deepEqual([entry.target.id, entry.after], [id, { revoked_keys: 1, revoked_key_ids: [keyId] }])
  for (const path of [`/v1/inboxes/${id}`, `/v1/inboxes/${id}/messages`, `/v1/inboxes/${id}/folders`]) {
    assert.equal((await account.api.get(path)).status, 404, path)
  }
  assert.equal((await account.api.get(`/v1/inbox-messages/${filed.id}`)).status, 404)
  assert.equal((await account.api.get(`/v1/threads/${filed.threadId}`)).status, 404)
  assert.equal((await account.api.post('/v1/api-keys', { name: 'k', scopes: ['read'], inbox_id: id })).status, 404)
  assert.equal((await account.api.delete(`/v1/inboxes/${id}`)).status, 404)
  await eventually('all of it removed', async () => {
    const { left } = await db.one<{ left: number }>(sql`
      select (select count(*) from inboxes where id = ${id}) + (select count(*) from inbox_messages where inbox_id = ${id})
        + (select count(*) from threads where inbox_id = ${id}) + (select count(*) from folders where inbox_id = ${id})
        + (select count(*) from message_labels where inbox_id = ${id})
        + (select count(*) from drafts where inbox_id = ${id})
        + (select count(*) from api_keys where inbox_id = ${id})
        + (select count(*) from mail_sources where id = ${filed.sourceId})
        + (select count(*) from source_attachments where source_id = ${filed.sourceId}) as left`)
    return left === 0
  })
  await assertMailboxCounts(db)
})

test('under legal hold an inbox cannot be deleted, and one that was deleted before keeps what it held', async () => {
  const held = await anAccount()
  const { db } = held.box.app.world
  const [kept, deleted] = [await anInbox(held), await anInbox(held)]
  await aFiledMessage(held.box, deleted)
  await held.api.patch('/v1/account', { legal_hold: true })
  await db.transact(system('test'), tx => tx.run(sql`update inboxes set deleted_at = ${tx.now} where id = ${deleted}`))

  const refused = await held.api.delete(`/v1/inboxes/${kept}`)

  assert.equal(refused.status, 409)
  const pass = held.box.app.workers.find(({ name }) => name === 'inbox-removal') as {
    run(world: unknown, signal: AbortSignal): Promise<number>
  }
  await pass.run(held.box.app.world, new AbortController().signal)
  const count = () => db.one(sql`select count(*)::int as n from inbox_messages where inbox_id = ${deleted}`)
  assert.deepEqual(await count(), { n: 1 })
  await held.api.patch('/v1/account', { legal_hold: false })
  held.box.app.world.wakeups.hint('removals')
  await eventually('removed when the hold is over', async () => ((await count()) as { n: number }).n === 0)
  assert.equal((await held.api.delete(`/v1/inboxes/${kept}`)).status, 204)
})

test('an inbox that is locked when its removal comes round is removed when the lock is free', async () => {
  const { db, wakeups } = account.box.app.world
  const id = await anInbox(account)
  const locked = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const holding = db.transact(system('test'), async tx => {
    await tx.run(sql`select from inboxes where id = ${id} for key share`)
    locked.resolve()
    await done.promise
  })
  await locked.promise
  await db.transact(system('test'), tx => tx.run(sql`update inboxes set deleted_at = ${tx.now} where id = ${id}`))
  wakeups.hint('removals')
  await new Promise(resolve => setTimeout(resolve, 300))
  done.resolve()
  await holding
  await eventually('it is removed', async () => (await db.maybe(sql`select from inboxes where id = ${id}`)) === null)
})

test('each account has its share of a round of removals, and an inbox that cannot be removed stops no other', async () => {
  const { box } = account
  const { db } = box.app.world
  const other = await anAccount({ box })
  const [template, few] = [await anInbox(account), await anInbox(other)]
  const run = (statement: Sql): Promise<unknown> => db.transact(system('test'), tx => tx.run(statement))
  await run(sql`create function no_removal() returns trigger language plpgsql as
    $$ begin if old.display_name = 'Bulk 60' then raise exception 'not now'; end if; return old; end $$`)
  await run(sql`create trigger no_removal before delete on inboxes for each row execute function no_removal()`)
  const left = async (): Promise<string[]> =>
    (
      await db.many<{ name: string }>(sql`select coalesce(display_name, '') as name from inboxes
        where deleted_at is not null and account_id in (${account.id}, ${other.id})`)
    ).map(({ name }) => name)
  const removal = box.app.workers.find(({ name }) => name === 'inbox-removal')!
  const round = () => removal.kind === 'due' && removal.run(box.app.world, new AbortController().signal)

  await eventually('nothing waits', async () => (await left()).length === 0)
  await run(sql`
    insert into inboxes (id, account_id, tenant_id, address, local_part, display_name, created_at, deleted_at)
    select gen_random_uuid(), account_id, tenant_id, address, local_part, 'Bulk ' || n, created_at,
      now() - n * interval '1 minute'
    from inboxes, generate_series(1, 60) n where id = ${template}`)
  await run(sql`update inboxes set deleted_at = now() where id = ${few}`)
  await round()
  const waiting = await left()
  assert.deepEqual([waiting.includes(''), waiting.includes('Bulk 1'), waiting.includes('Bulk 60')], [false, true, true])
  box.app.world.wakeups.hint('removals')
  await eventually('all others are removed', async () => (await left()).join() === 'Bulk 60')
  await run(sql`drop trigger no_removal on inboxes`)
  await eventually('and then that one', async () => {
    await round()
    return (await left()).length === 0
  })
})

test('an inbox whose domain is gone keeps its mail, and has its address again when its tenant has the domain', async () => {
  const { db } = account.box.app.world
  const name = `${unique('moves')}.sluice.test`
  const registered = async (tenantId: string): Promise<string> => {
    const created = await account.api.post(`/v1/tenants/${tenantId}/domains`, { name })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    await account.api.post(`/v1/domains/${created.body.id}/inbound`, { enabled: true })
    return created.body.id
  }
  const info = (tenantId: string, domainId: string) =>
    account.api.post(`/v1/tenants/${tenantId}/inboxes`, { domain_id: domainId, local_part: 'info' })
  const domainOf = async (inboxId: string) => (await account.api.get(`/v1/inboxes/${inboxId}`)).body.domain_id
  const made = async (tenantId: string) => {
    const domainId = await registered(tenantId)
    const inbox = await info(tenantId, domainId)
    assert.equal(inbox.status, 201, JSON.stringify(inbox.body))
    return { domainId, inboxId: inbox.body.id as string }
  }
  const first = await made(account.tenant.id)
  await aFiledMessage(account.box, first.inboxId)
  assert.equal((await account.api.delete(`/v1/domains/${first.domainId}`)).status, 204)
  assert.equal(await domainOf(first.inboxId), null)

  const second = await made(account.tenants[1]!.id)

  // A name that is verified no more, as after three days of failing checks.
  await db.transact(system('test'), tx =>
    tx.run(sql`update domains set verified_at = null, is_platform = false where id = ${second.domainId}`),
  )
  const third = await registered(account.tenant.id)
  assert.deepEqual([await domainOf(first.inboxId), await domainOf(second.inboxId)], [third, null])
  assert.equal((await account.api.get(`/v1/inboxes/${first.inboxId}/messages`)).body.messages.length, 1)
  assert.equal((await info(account.tenant.id, third)).status, 409)

  // One that is verified only after inbound was enabled.
  assert.equal((await account.api.delete(`/v1/domains/${third}`)).status, 204)
  const fourth = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name })
  await db.transact(system('test'), tx =>
    tx.run(sql`update domains set verified_at = null where id = ${fourth.body.id}`),
  )
  await account.api.post(`/v1/domains/${fourth.body.id}/inbound`, { enabled: true })
  assert.equal(await domainOf(first.inboxId), null)
  assert.equal((await account.api.post(`/v1/domains/${fourth.body.id}/verify`)).body.verified, true)
  assert.equal(await domainOf(first.inboxId), fourth.body.id)
})

test('a setting that the policy does not have is named, so that a misspelled one does not go unnoticed', async () => {
  const { body } = await create({})
  const changed = await account.api.patch(`/v1/inboxes/${body.id}`, { policy: { dpl: 'enforce', dlp: 'observe' } })
  assert.deepEqual([changed.status, changed.body.policy.dlp], [200, 'observe'])
  assert.equal(changed.headers.get('x-service-ignored-fields'), 'policy.dpl')
})
