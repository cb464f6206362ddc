// MTA-STS policies outlive the process that learned them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { sql } from '../../platform/db/sql.ts'
import { StsPolicies } from '../../smtp/client/mta-sts.ts'
import { forgetStsPolicies, stsStore } from './store.ts'

const policy = (mode: string, maxAge: number): string =>
  `version: STSv1\r\nmode: ${mode}\r\nmx: mx.receiver.test\r\nmx: *.receiver.test\r\nmax_age: ${maxAge}\r\n`

/** A domain whose record and policy a test can change, and processes that send to it. */
async function aDomain() {
  const { app, clock } = await aBox({ environment: { ROLES: 'api' } })
  const domain = { id: '1' as string | null, text: policy('enforce', 86_400), fetches: 0 }
  const aProcess = () =>
    new StsPolicies({
      clock,
      txt: () =>
        domain.id === null
          ? { kind: 'none', isNxdomain: true }
          : { kind: 'found', values: [`v=STSv1; id=${domain.id};`] },
      fetchText: async () => {
        domain.fetches += 1
        return domain.text
      },
      store: stsStore(app.world),
    })
  return { domain, aProcess, clock, world: app.world }
}

test('an enforced policy holds in every process and after a restart, although its record is gone', async () => {
  const { domain, aProcess, clock, world } = await aDomain()
  const first = await aProcess().enforcedFor('receiver.test')
  assert.deepEqual(first?.mx, ['mx.receiver.test', '*.receiver.test'])
  assert.deepEqual(await aProcess().enforcedFor('receiver.test'), first)
  assert.equal(domain.fetches, 1)
  domain.id = null
  assert.deepEqual(await aProcess().enforcedFor('receiver.test'), first)
  assert.equal(await aProcess().enforcedFor('other.test'), null)

  clock.advance(86_400_000)
  await forgetStsPolicies(world)
  assert.equal(await aProcess().enforcedFor('receiver.test'), null, 'it has lapsed')
  assert.equal(await world.db.value(sql`select count(*)::int from mta_sts_policies`), 0)
})

test('a policy that the domain withdraws, or replaces, is withdrawn in the database', async () => {
  const { domain, aProcess } = await aDomain()
  await aProcess().enforcedFor('receiver.test')
  Object.assign(domain, { id: '2', text: policy('enforce', 600) })
  assert.equal((await aProcess().enforcedFor('receiver.test'))?.maxAgeSeconds, 600)
  domain.id = null
  assert.equal((await aProcess().enforcedFor('receiver.test'))?.maxAgeSeconds, 600)
  Object.assign(domain, { id: '3', text: policy('none', 86_400) })
  assert.equal(await aProcess().enforcedFor('receiver.test'), null)
  domain.id = null
  assert.equal(await aProcess().enforcedFor('receiver.test'), null)
})

test('a policy that cannot be had takes nothing back, and is asked for once in five minutes', async () => {
  const { domain, aProcess } = await aDomain()
  await aProcess().enforcedFor('receiver.test')
  Object.assign(domain, { id: '2', text: 'nonsense' })
  const process = aProcess()
  for (let n = 0; n < 3; n++) assert.equal((await process.enforcedFor('receiver.test'))?.maxAgeSeconds, 86_400)
  assert.equal(domain.fetches, 2)
})
