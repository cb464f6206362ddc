// A credential that is used from more than ten addresses within an hour is an alert within about fifteen seconds: real
// logins, real workers.
// Waits more than it works.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { TestClient } from '../../src/smtp/server/client.fixture.ts'
import { system } from '../../src/platform/db/actor.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { aBox, type Box } from '../support/box.ts'
import { anAccount, eventually, type TestAccount } from '../support/factories.ts'

interface Credential {
  id: string
  username: string
  password: string
}

async function aCredential({ api, tenant }: TestAccount): Promise<Credential> {
  return (await api.post(`/v1/tenants/${tenant.id}/smtp-credentials`)).body
}

/** Every address of 127.0.0.0/8 is this machine's. */
async function logIn({ app }: Box, { username, password }: Credential, from: string): Promise<void> {
  const socket = connect({ port: app.ports.submission!, host: '127.0.0.1', localAddress: from })
  await once(socket, 'connect')
  await new TestClient(socket).hello({ username, password })
  socket.destroy()
}

const addressesOf = ({ app }: Box, { id }: Credential) =>
  app.world.db.many<{ address: string; minute: Date }>(
    sql`select address, minute from credential_addresses where credential_id = ${id} order by address`,
  )

test('eleven addresses are an alert, ten are none', async t => {
  const box = await aBox({ until: t, environment: { HOST: '127.0.0.1' } })
  const account = await anAccount({ box })
  const [stolen, shared] = [await aCredential(account), await aCredential(account)]
  const began = performance.now()
  for (let n = 1; n <= 11; n++) await logIn(box, stolen, `127.0.0.${n + 1}`)
  for (let n = 1; n <= 10; n++) await logIn(box, shared, `127.0.0.${n + 1}`)
  const alerts = await eventually(
    'an alert',
    async () => {
      const found = (await account.api.get('/v1/alerts')).body.alerts
      return found.length > 0 && found
    },
    30_000,
  )
  const seconds = (performance.now() - began) / 1000
  assert.ok(seconds < 20, `after ${seconds} s`)
  assert.equal(alerts.length, 1)
  assert.equal(alerts[0].rule, 'credential-distinct-ips')
  assert.equal(alerts[0].scope, `credential:${stolen.id}`)
  assert.equal(alerts[0].data.value, 11)
  assert.equal(alerts[0].data.addresses.length, 11)
})

test('logins are written within two seconds, once per minute and address, and at shutdown at the latest', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api,submission' } })
  const account = await anAccount({ box })
  const credential = await aCredential(account)
  for (const address of ['127.0.0.5', '127.0.0.6', '127.0.0.5']) await logIn(box, credential, address)
  const began = performance.now()
  await eventually('the addresses', async () => (await addressesOf(box, credential)).length >= 2)
  assert.ok(performance.now() - began < 2_500)
  await logIn(box, credential, '127.0.0.7')
  await box.close()
  const later = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  const rows = await addressesOf(later, credential)
  assert.deepEqual([...new Set(rows.map(row => row.address))], ['127.0.0.5', '127.0.0.6', '127.0.0.7'])
  for (const { minute } of rows) assert.equal(minute.getTime() % 60_000, 0)
})

test('addresses are forgotten after eight days', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = box.app
  const { id } = await anAccount({ box })
  const worker = box.app.workers.find(each => each.name === 'login-addresses-retention')
  assert.ok(worker?.kind === 'periodic')
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
      select gen_random_uuid(), ${tx.now}::timestamptz - n * interval '1 hour', '192.0.2.1', ${id}, gen_random_uuid()
      from generate_series(1, 240) n`),
  )
  await worker.run(world, new AbortController().signal)
  const { total } = await world.db.one<{ total: number }>(sql`select count(*) as total from credential_addresses`)
  assert.ok(total === 191 || total === 192, String(total))
})
