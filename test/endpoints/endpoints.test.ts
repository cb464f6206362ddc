// Sentences that hold for every endpoint there is, generated over the endpoint table.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { system } from '../../src/platform/db/actor.ts'
import type { Contract } from '../../src/platform/http/contract.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { mintApiKey } from '../../src/platform/secrets.ts'
import { theBox, type Box } from '../support/box.ts'
import type { Api } from '../support/client.ts'
import { anAccount, anInboundDomain, anInbox, type TestAccount } from '../support/factories.ts'
import { aModel, type ModelStandIn } from '../support/model.ts'
import { aStripe, type StripeStandIn } from '../support/stripe.ts'
import { accessMatrix, principals } from './access-matrix.ts'
import { anObjectFor, apiFor, bodyOf, namesFor, sharedObjects } from './objects.ts'
import { bodyFor, pathFor } from './samples.ts'

let box: Box
let account: TestAccount
let stranger: TestAccount

let stripe: StripeStandIn
let model: ModelStandIn

before(async () => {
  stripe = await aStripe()
  stripe.knowsAll = true
  model = await aModel()
  model.data = { order_number: 'A-17' }
  const mailboxes = { GOOGLE_CLIENT_ID: 'client', GOOGLE_CLIENT_SECRET: 'client-secret' }
  box = await theBox({ environment: { ...stripe.environment, ...model.environment, ...mailboxes } })
  account = await anAccount({ sandbox: true })
  await box.operator.patch(`/admin/v1/accounts/${account.id}`, { ai_enabled: true })
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`insert into payment_customers values ('cus_sample', ${account.id}, ${tx.now})`),
  )
  stranger = await anAccount({ sandbox: true })
})

after(() => Promise.all([stripe.close(), model.close()]))

const send = (api: Api, contract: Contract, ids: Record<string, string> = {}, body: unknown = bodyFor(contract)) =>
  api.request(contract.method, pathFor(contract, ids), { body })

const fieldsOf = (schema: object | undefined): string[] =>
  Object.keys((schema as { properties?: object } | undefined)?.properties ?? {})

const named = (contract: Contract): string => `${contract.method} ${contract.path}`

test('every endpoint that needs credentials answers 401 without them and with wrong ones', async () => {
  const wrongSecret = account.bearer.replace(/.$/, last => (last === 'A' ? 'B' : 'A'))
  const bearers = [undefined, 'nonsense', 'svc__', wrongSecret, mintApiKey().bearer, `${account.bearer}x`]
  for (const contract of box.app.contracts) {
    if (contract.access.kind === 'public') continue
    const replies = await Promise.all(bearers.map(bearer => send(box.client(bearer), contract)))
    for (const [index, { status, body }] of replies.entries()) {
      assert.equal(status, 401, `${named(contract)} with ${bearers[index]}`)
      assert.equal(body.error.code, 'unauthorized')
    }
  }
})

test('operator endpoints are closed to keys and to a wrong token, and the token opens no other endpoint', async () => {
  for (const contract of box.app.contracts) {
    if (contract.access.kind === 'operator') {
      assert.equal((await send(account.api, contract)).status, 401, named(contract))
      const path = pathFor(contract, {})
      const options = { body: bodyFor(contract), headers: { 'x-admin-token': 'wrong' } }
      assert.equal((await box.client().request(contract.method, path, options)).status, 401, named(contract))
    }
    if (contract.access.kind === 'key') assert.equal((await send(box.operator, contract)).status, 401, named(contract))
  }
})

test('the access matrix is the committed one', async () => {
  const file = new URL('access-matrix.txt', import.meta.url)
  const found = await accessMatrix(await anAccount())
  if (process.env['GENERATE']) await writeFile(file, found)
  assert.equal(found, await readFile(file, 'utf8'), 'run `npm run generate` and review the difference')
})

test("another account's, another tenant's and a random id answer alike on every endpoint", async () => {
  const neighbour = await anAccount({ tenants: 2, sandbox: true })
  const boundToOther = await neighbour.withKey({
    scopes: ['send', 'read', 'feedback'],
    tenant_id: neighbour.tenants[1]!.id,
  })
  const anyObjectFor = sharedObjects()
  for (const contract of box.app.contracts) {
    if (!contract.path.includes('{id}') || contract.access.kind !== 'key') continue
    const foreign = await anyObjectFor(contract, stranger)
    const elsewhere = await anyObjectFor(contract, neighbour)
    const body = bodyFor(contract)
    for (const api of [account.api, boundToOther]) {
      const ids = [foreign, ...(api === boundToOther ? [elsewhere] : []), 'not-a-uuid', '0']
      const [unknown, ...replies] = await Promise.all(
        [randomUUID(), ...ids].map(id => send(api, contract, { id }, body)),
      )
      assert.ok(
        unknown && [403, 404].includes(unknown.status),
        `${named(contract)} answers ${unknown?.status} to a random id`,
      )
      for (const reply of replies) {
        assert.deepEqual(
          { status: reply.status, body: reply.body },
          { status: unknown.status, body: unknown.body },
          named(contract),
        )
      }
    }
  }
})

test('for an inbox key another inbox of its tenant, and all that is in it, answers as a random id does', async () => {
  const inbox_id = await anInbox(account)
  const keyHolder = await account.withKey({ scopes: ['send', 'read'], inbox_id })
  const anyObjectFor = sharedObjects()
  let count = 0
  for (const contract of box.app.contracts) {
    const { access, path } = contract
    if (access.kind !== 'key' || !access.levels.includes('inbox') || !path.includes('{id}')) continue
    const ids = await ownIds(contract, anyObjectFor)
    const body = bodyFor(contract)
    const unknown = await send(keyHolder, contract, { ...ids, id: randomUUID() }, body)
    const foreign = await send(keyHolder, contract, ids, body)
    assert.equal(unknown.status, 404, named(contract))
    assert.deepEqual(
      { status: foreign.status, body: foreign.body },
      { status: 404, body: unknown.body },
      named(contract),
    )
    count += 1
  }
  assert.ok(count >= 18, `${count} endpoints are open to inbox keys`)
})

test('a foreign id in a body or query answers as a random id does, and a malformed one 400', async () => {
  const foreignIds: Record<string, string> = {
    tenant_id: stranger.tenant.id,
    inbox_id: await anInbox(stranger),
    domain_id: await anInboundDomain(stranger.api, stranger.tenant.id),
  }
  for (const contract of box.app.contracts) {
    if (contract.access.kind !== 'key') continue
    if (![...fieldsOf(contract.body), ...fieldsOf(contract.query)].some(name => name in foreignIds)) continue
    const ids = await ownIds(contract)
    for (const name of fieldsOf(contract.body)) {
      if (!(name in foreignIds)) continue
      const body = (await bodyOf(contract, account, ids)) as object
      const random = await send(account.api, contract, ids, { ...body, [name]: randomUUID() })
      const foreign = await send(account.api, contract, ids, { ...body, [name]: foreignIds[name] })
      const malformed = await send(account.api, contract, ids, { ...body, [name]: 'not-a-uuid' })
      assert.equal(random.status, 404, `${named(contract)} ${name}: ${JSON.stringify(random.body)}`)
      assert.deepEqual({ status: foreign.status, body: foreign.body }, { status: random.status, body: random.body })
      assert.equal(malformed.status, 400, `${named(contract)} ${name}`)
    }
    for (const name of fieldsOf(contract.query)) {
      if (!(name in foreignIds)) continue
      const path = pathFor(contract, ids)
      const [random, foreign] = [
        await account.api.get(`${path}?${name}=${randomUUID()}`),
        await account.api.get(`${path}?${name}=${foreignIds[name]}`),
      ]
      assert.deepEqual(
        { status: foreign.status, body: foreign.body },
        { status: random.status, body: random.body },
        named(contract),
      )
    }
  }
})

test('every mutation leaves exactly one audit entry, with its action, and every read leaves none', async () => {
  for (const contract of box.app.contracts) {
    if (contract.access.kind === 'public') continue
    const ids = await ownIds(contract)
    const wanted = await bodyOf(contract, account, ids)
    const first = await lastAuditId()
    const { status, body } = await send(apiFor(contract, account), contract, ids, wanted)
    assert.ok(status < 300, `${named(contract)} answered ${status}: ${JSON.stringify(body)}`)
    const entries = await box.app.world.db.many<{ action: string }>(
      // What the service does by itself meanwhile, such as making the account that alert mail comes from, is not the caller's.
      sql`select action from audit_entries where id > ${first} and actor_type <> 'system' order by id`,
    )
    assert.deepEqual(
      entries.map(entry => entry.action),
      contract.audit ? [contract.audit] : [],
      named(contract),
    )
  }
})

test('five mutations are open to anybody, and their own tests look at their audit entries', async () => {
  const open = box.app.contracts.filter(({ access, audit }) => access.kind === 'public' && audit)
  assert.deepEqual(open.map(named).toSorted(), [
    'GET /v1/inboxes/connect/callback',
    'POST /approval-links/{token}/approve',
    'POST /approval-links/{token}/reject',
    'POST /unsubscribe/{token}',
    'POST /webhooks/payments',
  ])
})

/** Questions too long for a URL. */
const READS_BY_POST = new Set(['POST /mcp', 'POST /v1/rules/test'])

/** The browser of the admin comes back from the provider. */
const CHANGES_BY_GET = new Set(['GET /v1/inboxes/connect/callback'])

test('endpoints that are not reads declare an audit action, and reads declare none', async () => {
  for (const contract of box.app.contracts) {
    if ((contract.method === 'GET' && !CHANGES_BY_GET.has(named(contract))) || READS_BY_POST.has(named(contract)))
      assert.equal(contract.audit ?? null, null, named(contract))
    else assert.match(contract.audit ?? '', /^[a-z_]+\.[a-z_]+$/, named(contract))
  }
})

test('a body of a wrong shape answers 400, 404 or 422 on every endpoint, never 500', async () => {
  const shapes = [
    '',
    'null',
    '[]',
    '"text"',
    '1e999',
    '{"__proto__":{}}',
    '{',
    '\ufeff{}',
    '[[[[',
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
  ]
  const anyObjectFor = sharedObjects()
  for (const contract of box.app.contracts) {
    if (contract.access.kind === 'public' || !contract.body) continue
    const ids = await ownIds(contract, anyObjectFor)
    const api = apiFor(contract, account)
    const replies = await Promise.all(shapes.map(shape => send(api, contract, ids, shape)))
    for (const [index, { status, body }] of replies.entries()) {
      const shape = shapes[index]
      const isFine = shape === '' && contract.isBodyOptional && status < 500
      assert.ok(
        isFine || [400, 422].includes(status),
        `${named(contract)} ${shape} answered ${status} ${JSON.stringify(body)}`,
      )
    }
  }
})

test('query values of a wrong shape answer 400 or 404 on every endpoint, never 500', async () => {
  const values = ['', '%00', '-1', '1e400', '9223372036854775808', 'x'.repeat(5000), '[]', "' or 1=1 --", '%ff%fe']
  for (const contract of box.app.contracts) {
    if (contract.access.kind === 'public' || !contract.query) continue
    for (const name of fieldsOf(contract.query)) {
      const paths = values.map(value => `${pathFor(contract, {})}?${name}=${value}`)
      const api = apiFor(contract, account)
      const replies = await Promise.all(paths.map(path => api.request(contract.method, path)))
      for (const [index, { status }] of replies.entries()) {
        assert.ok(status < 500, `${contract.method} ${paths[index]!.slice(0, 200)} answered ${status}`)
      }
    }
  }
})

test('every kind of principal is in the matrix', async () => {
  assert.equal(Object.keys(await principals(await anAccount())).length, 12)
})

async function ownIds(contract: Contract, make = anObjectFor): Promise<Record<string, string>> {
  if (!contract.path.includes('{id}')) return {}
  const id = await make(contract, account)
  return { id, ...(await namesFor(contract, account, id)) }
}

const lastAuditId = async (): Promise<number> =>
  (await box.app.world.db.one<{ id: number }>(sql`select coalesce(max(id), 0) as id from audit_entries`)).id
