// Messages beyond the bound wait for their turn, and none waits for ever.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SmtpMemory } from './smtp-memory.ts'

test('who passes the bound waits until others are done', () => {
  const memory = new SmtpMemory(100)
  const resumed: string[] = []
  const first = memory.open(() => resumed.push('first'))
  const second = memory.open(() => resumed.push('second'))
  assert.equal(first.grow(60), true)
  assert.equal(second.grow(60), false)

  first.release()
  assert.deepEqual(resumed, ['second'])
  assert.equal(second.isWaiting, false)
})

test('the oldest is never told to wait, so that somebody can always finish', () => {
  const memory = new SmtpMemory(100)
  const oldest = memory.open(() => {})
  assert.equal(oldest.grow(90), true)
  assert.equal(memory.open(() => {}).grow(90), false)
  assert.equal(oldest.grow(1_000), true)
})

test('whatever they ask for and in whatever order, all of them finish', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { minLength: 1, maxLength: 12 }), fc.nat(200), (sizes, bound) => {
      const memory = new SmtpMemory(bound)
      const sessions = sizes.map(size => {
        const session = { left: size, mayRead: true, holding: memory.open(() => void (session.mayRead = true)) }
        return session
      })
      const unfinished = new Set(sessions)
      while (unfinished.size > 0) {
        const readers = [...unfinished].filter(({ mayRead }) => mayRead)
        assert.ok(readers.length > 0, 'everybody waits for everybody')
        for (const session of readers) {
          session.left -= 50
          session.mayRead = session.holding.grow(50)
          if (session.left > 0) continue
          unfinished.delete(session)
          session.holding.release()
        }
      }
    }),
  )
})
