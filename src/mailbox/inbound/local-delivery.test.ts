// Mail from this installation to its own inboxes arrives once, also where a process dies before it has recorded that.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'
import { sql } from '../../platform/db/sql.ts'
import type { LocalMail } from '../../sending/delivery/local.ts'
import { Arrivals } from './arrivals.ts'
import { localInboxes } from './local-delivery.ts'

test('what was stored and not recorded as delivered is not stored again, whichever others share its envelope', async t => {
  // Without workers nobody delivers it but this test.
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  const inboxes = [await anInbox(account), await anInbox(account), await anInbox(account)]
  const addresses = await Promise.all(
    inboxes.map(async id => (await account.api.get(`/v1/inboxes/${id}`)).body.address as string),
  )
  const mail = { to: addresses.slice(1), subject: 'Once', text: 'Hello' }
  assert.equal((await account.api.post(`/v1/inboxes/${inboxes[0]}/messages`, mail)).status, 202)
  const { world } = box.app
  const claimed = () =>
    world.db.many<LocalMail['deliveries'][number]>(sql`
      select account_id, tenant_id, message_id, n, recipient, recipient_domain, has_arrived from queue order by n`)
  const rows = await claimed()
  const local = localInboxes(world, new Arrivals(world))
  const deliver = async (deliveries: LocalMail['deliveries']) => {
    const source = Buffer.from('Subject: Once\r\n\r\nHello\r\n')
    const answers = await local.deliver({ deliveries, mailFrom: addresses[0]!, source, smtputf8: false })
    return answers.map(answer => answer?.kind)
  }
  const arrived = async () =>
    (await world.db.many<{ inbox_ids: string[] }>(sql`select inbox_ids from arrivals`)).flatMap(row => row.inbox_ids)

  // Under two leases at once, in one batch.
  const first = await Promise.all([deliver(rows.slice(0, 1)), deliver(rows.slice(0, 1)), deliver(rows.slice(0, 1))])
  assert.deepEqual(first, [['delivered'], ['delivered'], ['delivered']])
  assert.deepEqual(await deliver(rows), ['delivered', 'delivered'])
  const again = await Promise.all([deliver(rows), deliver(rows.slice(1)), deliver(rows)])

  assert.ok(again.flat().every(kind => kind === 'delivered'))
  assert.deepEqual((await arrived()).toSorted(), inboxes.slice(1).toSorted())
  const { sources } = await world.db.one<{ sources: number }>(
    sql`select count(*)::int as sources from mail_sources s join arrivals a on a.source_id = s.id`,
  )
  assert.equal(sources, 2)

  // Whatever has become of the inbox since.
  await account.api.delete(`/v1/inboxes/${inboxes[1]}`)
  assert.deepEqual(await deliver(await claimed()), ['delivered', 'delivered'])
  assert.equal((await arrived()).length, 2)
})
