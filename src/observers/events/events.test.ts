// GET /v1/events.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { insertReserved, reserveIds } from '../../platform/journal/append.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'

interface Happening {
  type: string
  tenantId?: string
  messageId?: string
  recipient?: string
}

async function happen({ box, id }: TestAccount, ...events: Happening[]): Promise<void> {
  await box.app.world.db.transact(system('test'), async tx => {
    for (const event of events) tx.record({ ...event, accountId: id })
  })
}

const ids = (events: { id: number }[]): number[] => events.map(event => event.id)

test('events are listed newest first and paged by before_id without a gap or a repeat', async () => {
  const account = await anAccount()
  await happen(account, ...Array.from({ length: 10 }, () => ({ type: 'accepted' })))
  const seen: number[] = []
  let path = '/v1/events?limit=3'
  for (;;) {
    const { body } = await account.api.get(path)
    seen.push(...ids(body.events))
    if (body.next_before_id === null) break
    path = `/v1/events?limit=3&before_id=${body.next_before_id}`
  }
  assert.equal(seen.length, 10)
  assert.deepEqual(
    seen,
    seen.toSorted((left, right) => right - left),
  )
})

test('after_id catches up in ascending order, and says where to go on when nothing is new', async () => {
  const account = await anAccount()
  await happen(account, ...Array.from({ length: 5 }, () => ({ type: 'accepted' })))
  const newest: number = (await account.api.get('/v1/events?limit=1')).body.events[0].id

  const { body } = await account.api.get(`/v1/events?after_id=0&limit=3`)
  const rest = await account.api.get(`/v1/events?after_id=${body.next_after_id}`)
  const nothing = await account.api.get(`/v1/events?after_id=${rest.body.next_after_id}`)

  assert.equal(body.events.length, 3)
  assert.deepEqual(
    ids(body.events),
    ids(body.events).toSorted((left, right) => left - right),
  )
  assert.equal(rest.body.events.length, 2)
  assert.deepEqual(nothing.body, { events: [], next_before_id: null, next_after_id: newest })
  assert.equal((await account.api.get('/v1/events?after_id=1&before_id=5')).status, 400)
})

test('who follows the log by after_id misses nothing that is committed later than a higher id', async () => {
  const account = await anAccount()
  const { db } = account.box.app.world
  const many = Array.from({ length: 500 }, () => ({ type: 'accepted', accountId: account.id }))
  const { promise: isWritten, resolve: written } = Promise.withResolvers<void>()
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const large = db.transact(system('test'), async tx => {
    const { first } = await tx.one<{ first: number }>(reserveIds(many))
    await tx.run(insertReserved(many, first, tx.now))
    written()
    await mayEnd
  })
  await isWritten
  await happen(account, { type: 'accepted' })

  const { body: early } = await account.api.get('/v1/events?after_id=0')
  end()
  await large
  const { body: late } = await account.api.get(`/v1/events?after_id=${early.next_after_id}&limit=500`)
  const { body: rest } = await account.api.get(`/v1/events?after_id=${late.next_after_id}`)

  assert.deepEqual(early, { events: [], next_before_id: null, next_after_id: 0 })
  assert.equal(late.events.length, 500)
  assert.equal(rest.events.length, 1)
})

test('events are filtered by type, tenant, message and recipient', async () => {
  const account = await anAccount({ tenants: 2 })
  const [one, two] = [account.tenants[0]!, account.tenants[1]!]
  const messageId = randomUUID()
  await happen(
    account,
    { type: 'accepted', tenantId: one.id, messageId, recipient: 'a@example.com' },
    { type: 'delivered', tenantId: one.id, messageId, recipient: 'a@example.com' },
    { type: 'bounced', tenantId: two.id, recipient: 'b@example.com' },
  )
  const types = async (query: string): Promise<string[]> =>
    (await account.api.get(`/v1/events?${query}`)).body.events.map((event: { type: string }) => event.type)

  assert.deepEqual(await types('type=bounced'), ['bounced'])
  assert.deepEqual(await types('type=accepted'), ['accepted'])
  assert.deepEqual(await types(`tenant_id=${one.id}`), ['delivered', 'accepted'])
  assert.deepEqual(await types(`message_id=${messageId}&type=delivered`), ['delivered'])
  assert.deepEqual(await types('recipient=b@example.com'), ['bounced'])
  assert.equal((await account.api.get('/v1/events?type=unheard_of')).status, 400)
})

test('a tenant-bound key sees the events of its tenant only', async () => {
  const account = await anAccount({ tenants: 2 })
  const [own, other] = [account.tenants[0]!, account.tenants[1]!]
  await happen(
    account,
    { type: 'accepted', tenantId: own.id },
    { type: 'accepted', tenantId: other.id },
    { type: 'suspended' },
  )
  const bound = await account.withKey({ scopes: ['read'], tenant_id: own.id })

  const { body } = await bound.get('/v1/events')

  assert.deepEqual(
    body.events.map((event: { tenant_id: string }) => event.tenant_id),
    [own.id],
  )
  assert.equal((await bound.get(`/v1/events?tenant_id=${other.id}`)).status, 404)
})

test('the largest id there can be means from the newest', async () => {
  const account = await anAccount()
  await happen(account, { type: 'accepted' })
  for (const id of ['9223372036854775807', '9007199254740992']) {
    const { status, body } = await account.api.get(`/v1/events?before_id=${id}`)
    assert.deepEqual([status, body.events.length], [200, 1], id)
  }
  assert.equal((await account.api.get('/v1/audit?before_id=9223372036854775807')).status, 200)
})

test('ids beyond int64 and limits out of range answer 400', async () => {
  const { api } = await anAccount()
  for (const query of [
    'before_id=99999999999999999999',
    'before_id=0',
    'after_id=-1',
    'limit=0',
    'limit=501',
    'limit=ten',
    'limit=1&limit=2',
  ]) {
    assert.equal((await api.get(`/v1/events?${query}`)).status, 400, query)
  }
  assert.equal((await api.get('/v1/events?before_id=9007199254740991')).status, 200)
})
