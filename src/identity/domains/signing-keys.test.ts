// Keys for delivery: right, shared, kept for a minute.
import assert from 'node:assert/strict'
import { createPublicKey, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, unique } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aDnsServer } from '../../platform/net/dns.fixture.ts'
import { SigningKeys } from './signing-keys.ts'

test('the key of a domain signs under its name and selector', async () => {
  const account = await anAccount()
  const name = `${unique('acme')}.sluice.test`
  const { body: domain } = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name })
  const keys = new SigningKeys(account.box.app.world)

  const found = await keys.keyOf(domain.id)

  assert.equal(found?.domain, name)
  assert.equal(found?.selector, domain.dkim_selector)
  assert.equal(found?.returnPathOk, false, 'the platform has a return path of its own')
  const published = createPublicKey(found!.key).export({ type: 'spki', format: 'der' }).toString('base64')
  assert.ok(domain.records[1].value.endsWith(published))
  assert.equal(await keys.keyOf(randomUUID()), null)
})

test('the return path is ok once its alias was found', async t => {
  const dns = await aDnsServer()
  t.after(() => dns.close())
  const box = await aBox({ until: t, environment: { DNS_SERVERS: dns.address } })
  const account = await anAccount({ box })
  const { body: domain } = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'a.example.com' })
  const keys = new SigningKeys(box.app.world)
  assert.equal((await keys.keyOf(domain.id))?.returnPathOk, false)
  dns.publish(domain.records)
  await account.api.post(`/v1/domains/${domain.id}/verify`)

  box.clock.advance(61_000)

  assert.equal((await keys.keyOf(domain.id))?.returnPathOk, true)
})

test('a key is kept for a minute; read again it is the same object, and gone when the domain is', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const { world } = account.box.app
  const { body: domain } = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'a.sluice.test' })
  const keys = new SigningKeys(world)
  const first = await keys.keyOf(domain.id)
  await world.db.transact(system('test'), tx =>
    tx.run(sql`update domains set dkim_selector = 'changed' where id = ${domain.id}`),
  )

  assert.equal((await keys.keyOf(domain.id))?.selector, domain.dkim_selector)
  account.box.clock.advance(61_000)
  const second = await keys.keyOf(domain.id)

  assert.equal(second?.selector, 'changed')
  assert.equal(second?.key, first?.key, 'not parsed again')
  await account.api.delete(`/v1/domains/${domain.id}`)
  assert.ok(await keys.keyOf(domain.id))
  account.box.clock.advance(61_000)
  assert.equal(await keys.keyOf(domain.id), null)
})

test('many callers at once share one look-up, and the oldest of more than a thousand is forgotten', async () => {
  const { box, api, tenant } = await anAccount()
  const { body: domain } = await api.post(`/v1/tenants/${tenant.id}/domains`, { name: `${unique('x')}.sluice.test` })
  let statements = 0
  const { db } = box.app.world
  const counting = {
    many: (query: never) => {
      statements += 1
      return db.many(query)
    },
  }
  const keys = new SigningKeys({ ...box.app.world, db: counting as never })

  const found = await Promise.all(Array.from({ length: 200 }, () => keys.keyOf(domain.id)))

  assert.equal(statements, 1)
  assert.ok(found.every(each => each === found[0]))
  await Promise.all(Array.from({ length: 1_000 }, () => keys.keyOf(randomUUID())))
  statements = 0
  await keys.keyOf(domain.id)
  assert.equal(statements, 1)
})

test('a failed look-up is not remembered', async () => {
  const { box, api, tenant } = await anAccount()
  const { body: domain } = await api.post(`/v1/tenants/${tenant.id}/domains`, { name: `${unique('x')}.sluice.test` })
  let isAway = true
  const { db } = box.app.world
  const flaky = { many: (query: never) => (isAway ? Promise.reject(new Error('away')) : db.many(query)) }
  const keys = new SigningKeys({ ...box.app.world, db: flaky as never })
  await assert.rejects(keys.keyOf(domain.id))

  isAway = false

  assert.ok(await keys.keyOf(domain.id))
})
