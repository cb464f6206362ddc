// Bounds on what the readers of streams have not taken yet.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnreadBytes } from './unread-bytes.ts'

const MIB = 1024 * 1024

class Reader {
  readonly accountId: string
  backlogBytes = 0
  isCut = false

  constructor(accountId: string) {
    this.accountId = accountId
  }

  cut(): void {
    this.isCut = true
    this.backlogBytes = 0
  }
}

function behind(unread: UnreadBytes, accountId: string, count: number, bytes: number): Reader[] {
  return Array.from({ length: count }, () => {
    const reader = new Reader(accountId)
    reader.backlogBytes = bytes
    unread.note(reader)
    return reader
  })
}

test('an account that is 32 MiB behind loses its slowest readers, and nobody else does', () => {
  const unread = new UnreadBytes()
  const others = behind(unread, 'b', 20, 900_000)
  const quick = behind(unread, 'a', 5, 1_000)
  const slow = behind(unread, 'a', 40, 900_000)
  assert.ok(slow.filter(({ isCut }) => isCut).length >= 10)
  assert.ok(slow.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0) <= 32 * MIB)
  assert.ok(![...others, ...quick].some(({ isCut }) => isCut))
})

test('when all together are 64 MiB behind, the account that is furthest behind pays', () => {
  const unread = new UnreadBytes()
  const heavy = behind(unread, 'heavy', 34, 900_000)
  const light = ['b', 'c', 'd'].flatMap(account => behind(unread, account, 15, 900_000))
  assert.ok(heavy.some(({ isCut }) => isCut))
  assert.ok(!light.some(({ isCut }) => isCut))
})

test('what was taken meanwhile does not count', () => {
  const unread = new UnreadBytes()
  const drained = behind(unread, 'a', 34, 900_000)
  for (const reader of drained) reader.backlogBytes = 0
  const late = behind(unread, 'a', 30, 900_000)
  assert.ok(![...drained, ...late].some(({ isCut }) => isCut))
})
