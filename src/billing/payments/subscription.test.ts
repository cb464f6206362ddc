// Which of two states of a subscription is the newer one, and what events say.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ProviderEvent } from './provider.ts'
import { readTold, supersedes } from './subscription.ts'

const at = (status: string, seconds: number) => ({ status, stateAt: new Date(seconds * 1000) })

test('the later event is believed; of one second, the later state of a life', () => {
  assert.ok(supersedes(at('past_due', 2), at('active', 1)))
  assert.ok(supersedes(at('active', 2), at('past_due', 1)))
  assert.ok(!supersedes(at('active', 1), at('past_due', 2)))
  assert.ok(supersedes(at('active', 1), at('incomplete', 1)))
  assert.ok(!supersedes(at('incomplete', 1), at('active', 1)))
  assert.ok(supersedes(at('active', 1), at('active', 1)))
})

test('a subscription that has ended does not come back, whenever its end is told', () => {
  for (const ended of ['canceled', 'incomplete_expired']) {
    assert.ok(supersedes(at(ended, 1), at('active', 2)))
    assert.ok(!supersedes(at('active', 3), at(ended, 2)))
  }
})

test('whatever the order in which states are told, the same one is believed in the end', () => {
  const status = fc.constantFrom('incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused', 'canceled')
  const states = fc.array(fc.record({ status, seconds: fc.nat(5) }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(states, fc.infiniteStream(fc.nat()), (told, keys) => {
      const final = (order: typeof told) =>
        order
          .map(({ status: each, seconds }) => at(each, seconds))
          .reduce((known, next) => (supersedes(next, known) ? next : known))
      const shuffled = told
        .map(each => ({ each, key: keys.next().value! }))
        .toSorted((left, right) => left.key - right.key)
        .map(({ each }) => each)
      assert.equal(final(shuffled).status, final(told).status)
    }),
  )
})

test('events of other kinds and of odd shapes say nothing', () => {
  const event = (type: string, object: object) =>
    readTold({ id: 'evt', type, created: 1, data: { object } } as unknown as ProviderEvent)
  assert.equal(event('invoice.paid', { customer: 'cus' }), null)
  assert.equal(event('customer.subscription.updated', {}), null)
  assert.equal(event('customer.subscription.updated', { id: 1, customer: 'cus', status: 'active' }), null)
  assert.equal(event('customer.subscription.updated', { id: 'sub', customer: 'cus' }), null)
  assert.equal(event('checkout.session.completed', { customer: 'cus', mode: 'payment', subscription: 'sub' }), null)
  const told = event('customer.subscription.updated', {
    id: 'sub',
    customer: { id: 'cus' },
    status: 'active',
    items: {},
  })
  assert.deepEqual([told?.customerId, told?.priceId, told?.subscription?.status], ['cus', null, 'active'])
  assert.equal(
    event('customer.subscription.deleted', { id: 's', customer: 'c', status: 'x' })?.subscription?.status,
    'canceled',
  )
  assert.equal(
    event('checkout.session.completed', { customer: 'c', subscription: 's', payment_status: 'unpaid' })?.subscription
      ?.status,
    'incomplete',
  )
})
