// Bounds on what the readers of streams have not taken yet.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backlogs } from './backlogs.ts'

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

function behind(backlogs: Backlogs, accountId: string, count: number, bytes: number): Reader[] {
  return Array.from({ length: count }, () => {
    const reader = new Reader(accountId)
    reader.backlogBytes = bytes
    backlogs.note(reader)
    return reader
  })
}

test('an account that is 32 MiB behind loses its slowest readers, and nobody else does', () => {
  const backlogs = new Backlogs()
  const others = behind(backlogs, 'b', 20, 900_000)
  const quick = behind(backlogs, 'a', 5, 1_000)
  const slow = behind(backlogs, 'a', 40, 900_000)
  assert.ok(slow.filter(({ isCut }) => isCut).length >= 10)
  assert.ok(slow.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0) <= 32 * MIB)
  assert.ok(![...others, ...quick].some(({ isCut }) => isCut))
})

test('when all together are 64 MiB behind, the account that is furthest behind pays', () => {
  const backlogs = new Backlogs()
  const heavy = behind(backlogs, 'heavy', 34, 900_000)
  const light = ['b', 'c', 'd'].flatMap(account => behind(backlogs, account, 15, 900_000))
  assert.ok(heavy.some(({ isCut }) => isCut))
  assert.ok(!light.some(({ isCut }) => isCut))
})

test('what was taken meanwhile does not count', () => {
  const backlogs = new Backlogs()
  const drained = behind(backlogs, 'a', 34, 900_000)
  for (const reader of drained) reader.backlogBytes = 0
  const late = behind(backlogs, 'a', 30, 900_000)
  assert.ok(![...drained, ...late].some(({ isCut }) => isCut))
})
