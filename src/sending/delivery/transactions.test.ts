// Who shares a transaction, and who must not.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Claimed } from '../queue/attempts.ts'
import type { MessageToSend } from './queries.ts'
import { groupOf, transactionsOf } from './transactions.ts'

const claimed = (recipient: string, n = 0): Claimed =>
  ({ message_id: 'm', n, recipient, recipient_domain: 'x.example', relay_inbox_id: null, smtp_code: null }) as Claimed
const message = (fields: Partial<MessageToSend> = {}): MessageToSend =>
  ({ is_sandbox: false, relay_inbox_id: null, has_unsubscribe: false, ...fields }) as MessageToSend
const many = (count: number): Claimed[] => Array.from({ length: count }, (_, n) => claimed(`u${n}@x.example`, n))

test('an address beyond ASCII shares no transaction with others: not every receiver takes it', () => {
  assert.equal(groupOf(claimed('a@x.example')), groupOf(claimed('b@x.example')))
  assert.notEqual(groupOf(claimed('a@x.example')), groupOf(claimed('ü@x.example')))
})

test('in the sandbox too each recipient has a return path and a link of its own', () => {
  for (const is_sandbox of [false, true]) {
    assert.equal(transactionsOf(message({ is_sandbox }), many(3)).length, 3)
    assert.equal(transactionsOf(message({ is_sandbox, has_unsubscribe: true }), many(30)).length, 30)
    assert.equal(transactionsOf(message({ is_sandbox }), many(30)).length, 1)
  }
})

test('who was refused with others shares no transaction from then on, in any process', () => {
  const deliveries = many(30).map(each => (each.n < 5 ? { ...each, smtp_code: 550 } : { ...each, smtp_code: 451 }))
  for (const relay_inbox_id of [null, 'i']) {
    const sizes = transactionsOf(message({ relay_inbox_id }), deliveries).map(({ length }) => length)
    assert.deepEqual(sizes, [1, 1, 1, 1, 1, 25])
  }
})
