// Access tokens: refreshed once for all that want them, replaced when refused, and the end of a grant.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aBox, theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { anOAuthProvider, type OAuthStandIn } from '../../../test/support/oauth.ts'
import { system } from '../../platform/db/actor.ts'
import { unavailable } from '../../platform/db/errors.ts'
import { sql } from '../../platform/db/sql.ts'
import { postForm } from '../../platform/net/post-form.ts'
import { AccessTokens, GrantGone } from './tokens.ts'

let oauth: OAuthStandIn
let box: Box
let account: TestAccount

before(async () => {
  oauth = await anOAuthProvider()
  box = await theBox({ environment: { ROLES: 'api', ...oauth.environment } })
  account = await anAccount({ box })
})
after(() => oauth.close())

async function connected(): Promise<string> {
  const inboxId = await anInbox(account)
  oauth.email = `${unique('ann')}@example.com`
  const { body } = await account.api.post(`/v1/inboxes/${inboxId}/connect/google`)
  const query = await oauth.agree(body.auth_url)
  assert.equal((await box.client().get(`/v1/inboxes/connect/callback${query}`)).status, 302)
  return inboxId
}

const expire = (inboxId: string) =>
  box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update connections set access_expires_at = ${tx.now} where inbox_id = ${inboxId}`),
  )

const grantsOf = (tokens: AccessTokens, inboxId: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => tokens.current(inboxId)))

test('a token that is good for a minute is used as it is', async () => {
  const inboxId = await connected()
  const { accessToken, address } = await new AccessTokens(box.app.world).current(inboxId)
  assert.equal(accessToken, oauth.accessTokens.at(-1))
  assert.equal(address, oauth.email)
  assert.equal(oauth.refreshes, 0)
})

test('ten workers in two processes that want a new token ask the provider once, and have the same one', async t => {
  const other = await aBox({
    until: t,
    environment: { ROLES: 'api', ...oauth.environment },
    databaseUrl: box.databaseUrl,
  })
  const inboxId = await connected()
  oauth.rotates = true
  for (let round = 0; round < 5; round++) {
    await expire(inboxId)
    const before = oauth.refreshes
    // Each with its own memory, as if it were a process of its own.
    const workers = Array.from({ length: 10 }, (_, n) => new AccessTokens((n % 2 === 0 ? box : other).app.world))
    oauth.beforeRefresh = () => new Promise(resolve => setTimeout(resolve, 30))
    const grants = await Promise.all(workers.map(tokens => tokens.current(inboxId)))
    assert.equal(oauth.refreshes, before + 1)
    assert.deepEqual([...new Set(grants.map(({ accessToken }) => accessToken))], [oauth.accessTokens.at(-1)])
  }
  oauth.rotates = false
  oauth.beforeRefresh = async () => {}
})

/** As of a process whose transactions begin only when `ready` says so, each with its number. */
function aProcess(ready: (count: number) => Promise<void>): AccessTokens {
  const { world } = box.app
  let count = 0
  const transact: typeof world.db.transact = async (...given) => {
    await ready(++count)
    return world.db.transact(...given)
  }
  const db = { maybe: world.db.maybe.bind(world.db), transact } as typeof world.db
  return new AccessTokens(Object.create(world, { db: { value: db } }))
}

test('a process that comes late asks with the refresh token of then, and not with that which it read', async () => {
  const inboxId = await connected()
  oauth.rotates = true
  await expire(inboxId)
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>()
  const { promise: hasRead, resolve: reads } = Promise.withResolvers<void>()
  const late = aProcess(() => {
    reads()
    return goesOn
  }).current(inboxId)
  await hasRead
  const quick = new AccessTokens(box.app.world)
  await quick.refused(inboxId, (await quick.current(inboxId)).accessToken)
  goOn()
  assert.equal((await late).accessToken, oauth.accessTokens.at(-1))
  oauth.rotates = false
})

test('an end of the grant that is told after the lease lapsed ends no grant that another process refreshed', async () => {
  const inboxId = await connected()
  oauth.rotates = true
  await expire(inboxId)
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>()
  const { promise: isAsked, resolve: asks } = Promise.withResolvers<void>()
  oauth.beforeRefresh = () => {
    oauth.beforeRefresh = async () => {}
    asks()
    return goesOn
  }
  const late = new AccessTokens(box.app.world).current(inboxId)
  await isAsked
  box.clock.advance(41_000)
  const { accessToken } = await new AccessTokens(box.app.world).current(inboxId)
  goOn()
  assert.equal((await late).accessToken, accessToken)
  oauth.rotates = false
})

test('a refresh token that the provider has replaced is stored once the database is back', async () => {
  const inboxId = await connected()
  oauth.rotates = true
  await expire(inboxId)
  const before = oauth.refreshes
  const { accessToken } = await aProcess(async count => {
    // The first is the claim. The lease lapses before the database is back.
    if (count > 2) return
    if (count === 2) box.clock.advance(41_000)
    if (count === 2) throw unavailable(new Error('Connection terminated'))
  }).current(inboxId)
  assert.equal(oauth.refreshes, before + 1)
  assert.equal((await new AccessTokens(box.app.world).current(inboxId)).accessToken, accessToken)
  oauth.rotates = false
})

test('a token that was refused is replaced once, also when many say so', async () => {
  const inboxId = await connected()
  const tokens = new AccessTokens(box.app.world)
  const { accessToken } = await tokens.current(inboxId)
  await tokens.refused(inboxId, accessToken)
  const next = await tokens.current(inboxId)
  assert.notEqual(next.accessToken, accessToken)
  await Promise.all([tokens.refused(inboxId, accessToken), tokens.refused(inboxId, accessToken)])
  assert.equal((await tokens.current(inboxId)).accessToken, next.accessToken)
})

test('a grant that the provider has ended is told once: state, stream and alert; nobody asks again', async () => {
  const inboxId = await connected()
  await expire(inboxId)
  oauth.grants.clear()
  const before = oauth.refreshes
  const failures = await Promise.allSettled(
    Array.from({ length: 5 }, () => new AccessTokens(box.app.world).current(inboxId)),
  )
  for (const failure of failures) assert.ok(failure.status === 'rejected' && failure.reason instanceof GrantGone)
  await assert.rejects(new AccessTokens(box.app.world).current(inboxId), GrantGone)
  assert.equal(oauth.refreshes, before + 1)
  const { body } = await account.api.get(`/v1/inboxes/${inboxId}`)
  assert.equal(body.provider, 'google')
  assert.equal(body.connection.state, 'reconnect_required')
  assert.match(body.connection.error, /Connect the mailbox again/)
  const { db } = box.app.world
  const told = await db.many<{ type: string }>(sql`
    select type from events where (inbox_id = ${inboxId} or data ->> 'inbox_id' = ${inboxId}) order by id`)
  assert.deepEqual(
    told.map(({ type }) => type),
    ['inbox.updated', 'inbox.updated', 'anomaly_detected'],
  )
  const [row] = await db.many<{ due_at: Date | null; refresh_token: null }>(
    sql`select due_at, refresh_token, access_token from connections where inbox_id = ${inboxId}`,
  )
  assert.deepEqual({ ...row }, { due_at: null, refresh_token: null, access_token: null })
})

test('a mailbox whose grant is gone is connected again under a higher generation; another mailbox begins anew', async () => {
  const inboxId = await connected()
  const email = oauth.email
  const { db } = box.app.world
  const end = async () => {
    await expire(inboxId)
    oauth.grants.clear()
    await assert.rejects(new AccessTokens(box.app.world).current(inboxId), GrantGone)
  }
  const again = async (address: string) => {
    oauth.email = address
    const { body } = await account.api.post(`/v1/inboxes/${inboxId}/connect/google`)
    await box.client().get(`/v1/inboxes/connect/callback${await oauth.agree(body.auth_url)}`)
    return new AccessTokens(box.app.world).current(inboxId)
  }
  await db.transact(system('test'), tx =>
    tx.run(sql`update connections set messages_synced = 7 where inbox_id = ${inboxId}`),
  )
  const { generation: first } = await new AccessTokens(box.app.world).current(inboxId)
  await end()
  const { generation: second } = await again(email)
  assert.ok(second > first)
  assert.equal((await account.api.get(`/v1/inboxes/${inboxId}`)).body.connection.messages_synced, 7)
  await end()
  const other = await again('other@example.com')
  assert.ok(other.generation > second)
  assert.equal(other.address, 'other@example.com')
  assert.equal((await account.api.get(`/v1/inboxes/${inboxId}`)).body.connection.messages_synced, 0)
})

test('a mailbox that was disconnected is connected again under a higher generation', async () => {
  const inboxId = await connected()
  const { generation: first } = await new AccessTokens(box.app.world).current(inboxId)
  assert.equal((await account.api.delete(`/v1/inboxes/${inboxId}/connect`)).status, 200)
  const { body } = await account.api.post(`/v1/inboxes/${inboxId}/connect/google`)
  await box.client().get(`/v1/inboxes/connect/callback${await oauth.agree(body.auth_url)}`)
  const { generation: second } = await new AccessTokens(box.app.world).current(inboxId)
  assert.ok(second > first, `${second}`)
})

test('a provider that throttles is left alone for as long as it says, by everybody', async () => {
  const inboxId = await connected()
  await expire(inboxId)
  oauth.faults.push('throttled')
  const before = oauth.refreshes
  await assert.rejects(new AccessTokens(box.app.world).current(inboxId), /429/)
  await assert.rejects(new AccessTokens(box.app.world).current(inboxId), /a moment ago/)
  assert.equal(oauth.refreshes, before + 1)
  box.clock.advance(121_000)
  await new AccessTokens(box.app.world).current(inboxId)
  assert.equal(oauth.refreshes, before + 2)
  assert.equal((await account.api.get(`/v1/inboxes/${inboxId}`)).body.connection.state, 'syncing')
})

test('a process that dies while it refreshes delays the others for as long as its lease', async () => {
  const inboxId = await connected()
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
      update connections set access_token = null, refresh_lease = ${crypto.randomUUID()},
        refresh_until = ${new Date(tx.now.getTime() + 40_000)} where inbox_id = ${inboxId}`),
  )
  const waiting = new AccessTokens(box.app.world).current(inboxId)
  box.clock.advance(40_001)
  assert.equal((await waiting).accessToken, oauth.accessTokens.at(-1))
})

test('a token that is copied to another row does not open', async () => {
  const [one, other] = [await connected(), await connected()]
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
      update connections set access_token = (select access_token from connections where inbox_id = ${one})
      where inbox_id = ${other}`),
  )
  await assert.rejects(new AccessTokens(box.app.world).current(other))
  await new AccessTokens(box.app.world).current(one)
})

test('a provider that never answers is given up, and one that answers too much is cut', async () => {
  const url = oauth.environment['GOOGLE_TOKEN_URL']!
  const post = { form: { grant_type: 'x' }, timeoutMs: 50, answerBytesMax: 1000 }
  oauth.faults.push('hang', 'huge')
  await assert.rejects(postForm(url, post), /no answer within 50 ms/)
  await assert.rejects(postForm(url, { ...post, timeoutMs: 5_000 }), /longer than 1000 bytes/)
})

test('work that asks in one process at the same time shares one look-up', async () => {
  const inboxId = await connected()
  await expire(inboxId)
  const before = oauth.refreshes
  const grants = await grantsOf(new AccessTokens(box.app.world), inboxId, 20)
  assert.equal(oauth.refreshes, before + 1)
  assert.equal(new Set(grants.map(({ accessToken }) => accessToken)).size, 1)
  await eventually('the row has it', async () =>
    box.app.world.db.maybe(sql`select 1 from connections where inbox_id = ${inboxId} and refresh_lease is null`),
  )
})
