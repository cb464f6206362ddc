// Which pauses meet: over all scopes and messages of a small world.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { coverOf, covers, mayOverlap } from './overlap.ts'
import { applies } from './applies.fixture.ts'
import { breadthOf, type PauseFacts, type PauseScope } from './scopes.ts'
import { PauseIndex } from './pause-index.ts'

const TENANTS = ['t1', 't2']

/** Every credential and key belongs to the tenant in its name, but for a key of the whole account. */
const scope: fc.Arbitrary<PauseScope> = fc
  .oneof(
    fc.constant(['account', 'a', null] as const),
    fc.constantFrom(...TENANTS).map(tenant => ['tenant', tenant, tenant] as const),
    fc.constantFrom('x.test', 'y.test').map(domain => ['domain', domain, 't1'] as const),
    fc.constantFrom('me@x.test', 'Me@x.test', 'you@y.test').map(sender => ['sender', sender, 't1'] as const),
    fc.constantFrom(...TENANTS).map(tenant => ['domain', 'x.test', tenant, true] as const),
    fc.constantFrom(...TENANTS).map(tenant => ['sender', 'me@x.test', tenant, true] as const),
    fc.constantFrom(...TENANTS).map(tenant => ['api_key', 'k-null', tenant, true] as const),
    fc.constantFrom(...TENANTS).map(tenant => ['credential', `c-${tenant}`, tenant] as const),
    fc.constantFrom('t1', 't2', null).map(tenant => ['api_key', `k-${tenant}`, tenant] as const),
    fc
      .constantFrom('tag:a', 'tag:b', 'recipient_domain:r.test', 'recipient_domain:s.test')
      .map(rule => ['rule', rule, null] as const),
  )
  .map(([scope_type, scope_value, tenant_id, only_tenant = false]) => ({
    id: 'id',
    scope_type,
    scope_value,
    tenant_id,
    only_tenant,
    queue_action: 'hold' as const,
  }))

const facts: fc.Arbitrary<PauseFacts> = fc
  .record({
    tenantId: fc.constantFrom(...TENANTS),
    sender: fc.constantFrom('me@x.test', 'ME@x.test', 'you@y.test'),
    door: fc.constantFrom('credential', 'own key', 'account key'),
    tags: fc.subarray(['a', 'b']),
    recipientDomain: fc.constantFrom('r.test', 's.test'),
  })
  .map(({ door, ...rest }) => ({
    ...rest,
    senderDomain: rest.sender.split('@')[1]!,
    credentialId: door === 'credential' ? `c-${rest.tenantId}` : null,
    apiKeyId: door === 'own key' ? `k-${rest.tenantId}` : door === 'account key' ? 'k-null' : null,
  }))

test('two pauses that stop the same recipient may overlap', () => {
  fc.assert(
    fc.property(scope, scope, facts, (one, other, of) => {
      if (applies(one, of) && applies(other, of)) assert.ok(mayOverlap(one, other))
    }),
    { numRuns: 3_000 },
  )
})

test('a pause that covers another stops all that the other stops', () => {
  fc.assert(
    fc.property(scope, scope, facts, (broad, narrow, of) => {
      if (covers(broad, narrow) && applies(narrow, of)) assert.ok(applies(broad, of))
    }),
    { numRuns: 3_000 },
  )
})

test('the cover of a pause is the broadest match of all that the pause stops', () => {
  fc.assert(
    fc.property(fc.array(scope, { maxLength: 6 }), scope, facts, (pauses, narrow, of) => {
      const cover = coverOf(pauses, narrow)
      if (cover && applies(narrow, of)) assert.equal(new PauseIndex(pauses).broadest(of), cover)
    }),
    { numRuns: 5_000 },
  )
})

test('pauses of two tenants do not meet; an account covers everything, a tenant its own', () => {
  const of = (
    scope_type: string,
    scope_value: string,
    tenant_id: string | null = null,
    only_tenant = false,
  ): PauseScope => ({
    id: scope_value,
    scope_type,
    scope_value,
    tenant_id,
    only_tenant,
    queue_action: 'hold',
  })
  assert.equal(mayOverlap(of('tenant', 't1', 't1'), of('tenant', 't2', 't2')), false)
  assert.equal(mayOverlap(of('tenant', 't1', 't1'), of('credential', 'c', 't2')), false)
  assert.equal(mayOverlap(of('tenant', 't1', 't1'), of('rule', 'tag:a')), true)
  assert.equal(mayOverlap(of('domain', 'x.test', 't1', true), of('domain', 'x.test', 't2', true)), false)
  assert.equal(covers(of('domain', 'x.test'), of('domain', 'x.test', 't2', true)), true)
  assert.equal(covers(of('domain', 'x.test', 't2', true), of('domain', 'x.test')), false)
  assert.equal(covers(of('account', 'a'), of('rule', 'tag:a')), true)
  assert.equal(covers(of('tenant', 't1', 't1'), of('credential', 'c', 't1')), true)
  assert.equal(covers(of('tenant', 't1', 't1'), of('domain', 'x.test', 't1')), false)
})

test('the index finds the broadest pause that applies, and among equals the first', () => {
  fc.assert(
    fc.property(fc.array(scope, { maxLength: 12 }), facts, (pauses, of) => {
      const applying = pauses.filter(pause => applies(pause, of))
      const broadest = applying.toSorted((a, b) => breadthOf(a) - breadthOf(b))[0]
      const found = new PauseIndex(pauses).broadest(of)
      assert.deepEqual(found, broadest ?? null)
    }),
    { numRuns: 5_000 },
  )
})
