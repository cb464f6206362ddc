// The courier when something fails on our side: nothing is sent twice, kept for ever, or in the way of others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../platform/db/database.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { World } from '../../platform/world.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { Courier } from './courier.ts'
import { Flight } from './flight.ts'
import type { Claimed, MessageToSend } from './queries.ts'
import { Sources } from './sources.ts'
import type { SendResult } from './transport/outcome.ts'

const NO_KEYS = { keyOf: async () => null }
const { signal } = new AbortController()

async function aSender(): Promise<{ box: Box; account: TestAccount }> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  return { box, account }
}

async function send(account: TestAccount, to: string): Promise<string> {
  const { status, body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.sluice.test',
    to: [to],
    text: 'x',
  })
  assert.equal(status, 202)
  return body.message_id
}

const deliveryOf = async (account: TestAccount, id: string) =>
  (await account.api.get(`/v1/messages/${id}`)).body.deliveries[0]

/** A courier whose receivers answer so, with what was sent to whom. */
function aCourier(world: World, answer: (recipient: string) => SendResult): { courier: Courier; sent: string[] } {
  const sent: string[] = []
  const transport = {
    sendIfAllowed: async (_domain: string, { recipients }: { recipients: readonly string[] }) => {
      sent.push(...recipients)
      return recipients.map(answer)
    },
  }
  return { courier: new Courier(world, { transport, keys: NO_KEYS, mustYield: () => false }), sent }
}

const delivered = (text: string, host = 'mx.example'): SendResult => ({
  kind: 'delivered',
  reply: { code: 250, enhanced: '2.0.0', text },
  host,
  tls: false,
})

test('what a receiver says cannot keep its mail, or that of others, from being recorded', async () => {
  const { box, account } = await aSender()
  const world = { ...box.app.world, metrics: createMetrics() }
  const answers: Record<string, SendResult> = {
    'half@one.example': delivered(`${'a'.repeat(499)}😀 ok`),
    'poison@two.example': delivered('fine', 'mx\0.example'),
    'plain@three.example': delivered('thanks'),
  }
  const { courier, sent } = aCourier(world, recipient => answers[recipient]!)
  const ids = new Map<string, string>()
  for (const to of Object.keys(answers)) ids.set(to, await send(account, to))
  assert.equal(await courier.takeNext(signal), 3)
  for (const id of ids.values())
    await eventually('it is recorded', async () => (await deliveryOf(account, id)).status === 'delivered')
  assert.deepEqual(sent.toSorted(), Object.keys(answers).toSorted())
  assert.equal((await deliveryOf(account, ids.get('half@one.example')!)).response, `${'a'.repeat(499)}\ufffd`)
  assert.equal((await deliveryOf(account, ids.get('poison@two.example')!)).response, null)
  assert.equal((await deliveryOf(account, ids.get('plain@three.example')!)).response, 'thanks')
})

test('mail that was claimed and could not be read is given back, and its lease is not kept alive', async () => {
  const { box, account } = await aSender()
  let isBroken = true
  const db = new Proxy(box.app.world.db, {
    get: (target, name: keyof Database) => {
      if (name === 'many' && isBroken) return () => Promise.reject(new Error('canceling statement due to timeout'))
      const value = target[name] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const world = { ...box.app.world, db, metrics: createMetrics() }
  const { courier } = aCourier(world, () => delivered('ok'))
  const id = await send(account, 'u@example.com')
  await assert.rejects(courier.takeNext(signal), /timeout/)
  assert.equal((await deliveryOf(account, id)).status, 'queued')
  assert.match(await world.metrics.registry.metrics(), /sluice_deliveries_in_flight 0/)
  isBroken = false
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it is delivered', async () => (await deliveryOf(account, id)).status === 'delivered')
})

test('an attempt that fails on our side is not made again at once', async () => {
  const { box, account } = await aSender()
  const world = { ...box.app.world, metrics: createMetrics() }
  let isBroken = true
  const { courier, sent } = aCourier(world, () => {
    if (isBroken) throw new Error('a mistake of ours')
    return delivered('ok')
  })
  const id = await send(account, 'u@example.com')
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it waits', async () => (await deliveryOf(account, id)).status === 'queued')
  assert.equal(await courier.takeNext(signal), 0)
  isBroken = false
  box.clock.advance(61_000)
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it is delivered', async () => (await deliveryOf(account, id)).status === 'delivered')
  assert.equal(sent.length, 2)
})

test('a large message whose signature fails gives its room back', async () => {
  const { box, account } = await aSender()
  const id = await send(account, 'u@example.com')
  const keys = { keyOf: () => Promise.reject(new Error('the key cannot be opened')) }
  const sources = new Sources(box.app.world, keys)
  const message = { id, source: null, size: 200 * 1024 * 1024, has_unsubscribe: false, domain_id: id }
  for (let n = 0; n < 2; n++) {
    const ready = sources.ready(message as unknown as MessageToSend, 1)
    await assert.rejects(
      Promise.race([ready, delay(5_000, null, { ref: false }).then(() => assert.fail('waits for room'))]),
      /cannot be opened/,
    )
  }
  await sources.close()
})

test('mail that lapsed and was claimed again by the same process is counted for both attempts', () => {
  const flight = new Flight(() => false)
  const claimed = Array.from(
    { length: 30 },
    (_, n) => ({ message_id: 'm', n, recipient_domain: 'slow.test' }) as Claimed,
  )
  flight.begin(claimed, 'first')
  flight.begin(claimed, 'second')
  assert.equal(flight.size, 60)
  flight.end(claimed, 'first')
  flight.end(claimed, 'second')
  assert.equal(flight.size, 0)
  flight.crowds.note('slow.test')
  assert.equal(flight.crowds.putOff('slow.test', 1), null)
})
