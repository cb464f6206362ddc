// One scope table, two matchers: the condition in SQL says what `applies` and the index say, over random pauses and mails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { theBox } from '../../../test/support/box.ts'
import { PauseIndex } from './pause-index.ts'
import { applies } from './applies.fixture.ts'
import { matchesAny, type PauseFacts, type PauseScope } from './scopes.ts'
import { sql } from '../../platform/db/sql.ts'

const id = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** Some differ in the case of letters only, also where JavaScript and PostgreSQL would each have a rule of its own. */
const SENDERS = ['me@x.test', 'ME@x.test', 'Me@y.test', 'ÜΣ@z.test', 'üσ@z.test', 'İß@z.test', 'iß@z.test']

const scopeOf = (
  [scope_type, scope_value]: readonly [string, string],
  onlyTenant: string | null = null,
): PauseScope => ({
  id: id(0),
  scope_type,
  scope_value,
  queue_action: 'hold',
  tenant_id: onlyTenant,
  only_tenant: onlyTenant !== null,
})

const SHARED = ['domain', 'sender', 'api_key']

const scope: fc.Arbitrary<PauseScope> = fc
  .oneof(
    { arbitrary: fc.constant(['account', id(9)] as const), weight: 1 },
    { arbitrary: fc.constantFrom(id(1), id(2)).map(value => ['tenant', value] as const), weight: 4 },
    { arbitrary: fc.constantFrom('x.test', 'y.test', 'z.test').map(value => ['domain', value] as const), weight: 4 },
    { arbitrary: fc.constantFrom(...SENDERS).map(value => ['sender', value] as const), weight: 4 },
    { arbitrary: fc.constantFrom(id(3), id(4)).map(value => ['credential', value] as const), weight: 4 },
    { arbitrary: fc.constantFrom(id(5), id(6)).map(value => ['api_key', value] as const), weight: 4 },
    {
      arbitrary: fc
        .constantFrom('tag:a', 'tag:b', 'tag:recipient_domain:r.test', 'recipient_domain:r.test', 'recipient_domain:a')
        .map(value => ['rule', value] as const),
      weight: 8,
    },
  )
  .chain(named =>
    fc
      .constantFrom(...(SHARED.includes(named[0]) ? [id(1), id(2), null] : [null]))
      .map(onlyTenant => scopeOf(named, onlyTenant)),
  )

const facts: fc.Arbitrary<PauseFacts> = fc
  .record({
    tenantId: fc.constantFrom(id(1), id(2)),
    sender: fc.constantFrom(...SENDERS),
    credentialId: fc.constantFrom(id(3), id(4), null),
    apiKeyId: fc.constantFrom(id(5), id(6), null),
    tags: fc.subarray(['a', 'b', 'recipient_domain:r.test']),
    recipientDomain: fc.constantFrom('r.test', 's.test'),
  })
  .map(each => ({ ...each, senderDomain: each.sender.split('@')[1]! }))

/** More than a few of them are compared in another way. */
const TAGS_OF_NOBODY = Array.from({ length: 20 }, (_, n) => scopeOf(['rule', `tag:of-nobody-${n}`]))

test('it finds the recipients that some pause applies to', async () => {
  const { app } = await theBox()
  await fc.assert(
    fc.asyncProperty(
      fc.array(scope, { maxLength: 5 }),
      fc.array(facts, { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      async (few, all, hasManyTags) => {
        const pauses = hasManyTags ? [...few, ...TAGS_OF_NOBODY] : few
        const rows = all.map((each, n) => ({ message_id: id(n), ...each }))
        // Named as the tables are, in whose place they stand.
        const found = await app.world.db.many<{ message_id: string }>(sql`
          with facts as (
            select * from json_to_recordset(${JSON.stringify(rows)}::json) as f (message_id uuid, "tenantId" uuid,
              sender text, "senderDomain" text, "credentialId" uuid, "apiKeyId" uuid, tags jsonb, "recipientDomain" text)
          ), messages as (
            select message_id as id, "tenantId" as tenant_id, sender, "senderDomain" as sender_domain, "credentialId" as credential_id,
              "apiKeyId" as api_key_id, tags from facts
          ), q as (select message_id, "tenantId" as tenant_id, "recipientDomain" as recipient_domain from facts)
          select message_id from q where ${matchesAny(pauses)} order by message_id`)
        const index = new PauseIndex(pauses)
        const wanted = rows.filter(row => pauses.some(pause => applies(pause, row)))
        assert.deepEqual(
          rows.filter(row => index.broadest(row)),
          wanted,
        )
        assert.deepEqual(
          found.map(row => row.message_id),
          wanted.map(row => row.message_id),
        )
      },
    ),
    { numRuns: 300 },
  )
})

test('a thousand pauses of every kind make the same statement as twenty of each, and a few make one other', () => {
  const kinds = ['tenant', 'domain', 'sender', 'credential', 'api_key', 'rule'] as const
  const statement = (count: number): string =>
    matchesAny(
      Array.from({ length: count }, (_, n) =>
        kinds.flatMap(kind => [
          scopeOf([kind, kind === 'rule' ? `tag:${n}` : id(n)]),
          ...(SHARED.includes(kind) ? [scopeOf([kind, 'shared'], id(n))] : []),
        ]),
      ).flat(),
    ).toQuery().text

  assert.equal(statement(1_000), statement(20))
  assert.equal(statement(16), statement(2))
})
