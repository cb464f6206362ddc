// Where credentials log in from: what is noted of one is bounded, and each minute begins anew.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { sql } from '../../platform/db/sql.ts'
import { LoginAddresses } from './login-addresses.ts'

test('of a credential a hundred addresses are noted in a minute, whatever others are used from', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { id: accountId, tenant } = await anAccount({ box })
  const { world } = box.app
  const addresses = new LoginAddresses(world)
  const [stolen, other] = [randomUUID(), randomUUID()]
  const note = (credentialId: string, count: number) => {
    for (let n = 1; n <= count; n++) {
      addresses.note({ credentialId, accountId, tenantId: tenant.id, username: 'u' }, `192.0.2.${n}`)
    }
  }
  const noted = async (id: string) =>
    (await world.db.one<{ total: number }>(sql`
      select count(*) as total from credential_addresses where credential_id = ${id}`))!.total
  box.clock.set(new Date('2027-03-10T14:20:10.000Z'))
  note(stolen, 150)
  note(other, 3)
  await addresses.flush()
  note(stolen, 150)
  await addresses.flush()
  assert.deepEqual([await noted(stolen), await noted(other)], [100, 3])
  box.clock.advance(60_000)
  note(stolen, 20)
  await addresses.flush()
  assert.equal(await noted(stolen), 120)
})
