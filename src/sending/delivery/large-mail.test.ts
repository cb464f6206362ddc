// Large bodies wait for memory, and nobody else waits for them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { World } from '../../platform/world.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { courierOver } from './courier.fixture.ts'
import type { Transport } from './courier.ts'
import { LoadShedder } from '../../platform/work/load-shedder.ts'
import { InFlight } from './in-flight.ts'
import { LargeMail } from './large-mail.ts'
import type { MessageToSend } from './queries.ts'
import { Sources } from './sources.ts'

const { signal } = new AbortController()
const MEGABYTE = 1024 * 1024

async function send(account: TestAccount, message: object): Promise<string> {
  const sender = { tenant_id: account.tenant.id, from: `a@${account.tenant.id}.sluice.test` }
  const { status, body } = await account.api.post('/v1/messages', { ...sender, ...message })
  assert.equal(status, 202, JSON.stringify(body))
  return body.message_id
}

test('large mail of one account that waits for memory does not stop the mail of another', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const [bulk, other] = [await anAccount({ box }), await anAccount({ box })]
  for (const { api, tenant } of [bulk, other]) {
    await api.post(`/v1/tenants/${tenant.id}/domains`, { name: `${tenant.id}.sluice.test` })
  }
  const sent: string[] = []
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const transport: Transport = {
    send: async (_domain, { recipients }) => {
      sent.push(...recipients)
      if (recipients[0]!.startsWith('bulk')) await answered
      const reply = { code: 250, enhanced: null, text: 'ok' }
      return recipients.map(() => ({ kind: 'delivered', reply, host: 'mx.test', tls: false }))
    },
  }
  const world = { ...box.app.world, metrics: createMetrics() }
  const courier = courierOver(world, transport)
  await send(bulk, { to: Array.from({ length: 620 }, (_, n) => `bulk@d${n}.example`), text: 'x', unsubscribe: true })
  await world.db.transact(system('test'), async tx => {
    // Each takes all that one account may have.
    await tx.run(sql`update messages set size = ${28 * MEGABYTE}`)
    // A worker died while it had leased them, before any of them was begun.
    await tx.run(sql`update queue set is_suspect = true`)
  })
  const stopping = new AbortController()
  const { signal } = stopping
  const [first, second] = [await courier.takeNext(signal), await courier.takeNext(signal)]
  assert.deepEqual([first, second], [300, 300])

  const id = await send(other, { to: ['small@example.com'], text: 'x' })
  assert.ok((await courier.takeNext(AbortSignal.timeout(8_000))) > 0, 'mail is claimed')
  await eventually('it is delivered', async () => {
    const { body } = await other.api.get(`/v1/messages/${id}`)
    return body.counts.delivered === 1
  })
  const count = async (condition: ReturnType<typeof sql>) =>
    (await world.db.one<{ count: number }>(sql`select count(*) from queue where ${condition}`)).count
  await eventually('few wait', async () => (await count(sql`status = 'sending'`)) === 1 + 20)
  // The one that has its memory is begun while it is prepared; those that wait never are.
  await eventually('what waits has not begun', async () => (await count(sql`is_begun`)) === 0)

  // Once the receiver answers, the rest is sent in its turn.
  answer()
  await eventually('mail that waited is delivered', async () => (await count(sql`true`)) === 620 - 21)
  box.clock.advance(601_000)
  assert.equal(await courier.takeNext(signal), 300)
  await eventually('and more', async () => sent.length > 22)
  stopping.abort()
  await courier.drain(10_000)
  assert.equal(await count(sql`status = 'sending'`), 0, 'what waits goes back when the process ends')
})

const aLargeMessage = (fields: object) =>
  ({
    id: crypto.randomUUID(),
    source: null,
    size: 50 * MEGABYTE,
    account_id: 'a',
    ...fields,
  }) as unknown as MessageToSend

/** Over a budget of 112 MB: one message of 50 MB takes nearly all of it. Nothing of it gets as far as the database. */
function aLargeMail(): { large: LargeMail; sources: Sources } {
  const keys = { keyOf: () => Promise.reject(new Error('the key cannot be opened')) }
  const sources = new Sources({ config: {} } as World, {
    keys,
    kept: { list: async () => [], findPart: async () => null },
  })
  return { large: new LargeMail(sources, new InFlight(new LoadShedder())), sources }
}

test('a few of an account wait for memory, the others are told when to come back', async () => {
  const { large, sources } = aLargeMail()
  let end = (): void => {}
  const first = large.attempt(aLargeMessage({ has_unsubscribe: true }), { recipients: 1, signal }, async () => {
    await new Promise<void>(resolve => (end = resolve))
  })
  const attempts = Array.from({ length: 100 }, () =>
    large.attempt(aLargeMessage({ has_unsubscribe: true }), { recipients: 1, signal }, async () => {}),
  )
  const delays = (await Promise.all(attempts.slice(20))).map(each => (each.kind === 'full' ? each.retryDelayMs : 0))
  assert.ok(delays.every(delay => delay >= 5_000))
  assert.ok(delays.at(-1)! > delays[0]!, 'one after the other')
  end()
  assert.equal((await first).kind, 'attempted')
  const waited = await Promise.all(attempts.slice(0, 20))
  assert.deepEqual(new Set(waited.map(each => each.kind)), new Set(['attempted']))
  await sources.close()
})

test('recipients of a large message share its memory until the last of them has ended', async () => {
  const { sources } = aLargeMail()
  const message = aLargeMessage({ has_unsubscribe: false })
  const other = aLargeMessage({ has_unsubscribe: false, account_id: 'b' })
  const [one, two] = [sources.tryReserve(message)!, sources.tryReserve(message)!]
  assert.equal(sources.tryReserve(other), null)
  const waiting = [sources.reserve(other, signal), sources.reserve(other, signal)]
  one.release()
  assert.equal(sources.tryReserve(other), null)
  two.release()
  for (const reservation of await Promise.all(waiting)) reservation.release()
  assert.notEqual(sources.tryReserve(message), null)
  await sources.close()
})

test('a large message whose signature fails gives its memory back', async () => {
  const { large, sources } = aLargeMail()
  const message = aLargeMessage({ has_unsubscribe: false, source: Buffer.from('a: b\r\n\r\n'), domain_id: 'd' })
  const attempt = large.attempt(message, { recipients: 1, signal }, () => sources.ready(message, 'u@example.com'))
  assert.equal(sources.tryReserve(aLargeMessage({ account_id: 'b' })), null)
  await assert.rejects(attempt, /cannot be opened/)
  assert.notEqual(sources.tryReserve(aLargeMessage({ account_id: 'b' })), null)
  await sources.close()
})

test('who waits for memory ends with the process', async () => {
  const { large, sources } = aLargeMail()
  sources.tryReserve(aLargeMessage({ has_unsubscribe: true }))
  for (const has_unsubscribe of [true, false]) {
    const stopping = new AbortController()
    const options = { recipients: 1, signal: stopping.signal }
    const waiting = large.attempt(aLargeMessage({ has_unsubscribe }), options, () => assert.fail('it is sent'))
    stopping.abort(new Error('stopping'))
    await assert.rejects(waiting, /stopping/)
  }
  await sources.close()
})
