// When to try again: each delay by a tenth more or less, and what comes after the last.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repeatedDelayMs, retryDelayMs } from './retry-delay.ts'

const DELAYS_MS = [1_000, 60_000]

const isAbout = (delayMs: number | null, aboutMs: number): boolean =>
  delayMs !== null && delayMs >= aboutMs * 0.9 && delayMs <= aboutMs * 1.1

test('after the last delay there is no other try, or the last delay is repeated; each is within a tenth', () => {
  for (let n = 0; n < 100; n++) {
    assert.ok(isAbout(retryDelayMs(DELAYS_MS, 1), 1_000))
    assert.ok(isAbout(retryDelayMs(DELAYS_MS, 2), 60_000))
    assert.equal(retryDelayMs(DELAYS_MS, 3), null)
    for (const tries of [0, 1]) assert.ok(isAbout(repeatedDelayMs(DELAYS_MS, tries), 1_000))
    for (const tries of [2, 3, 1_000]) assert.ok(isAbout(repeatedDelayMs(DELAYS_MS, tries), 60_000))
  }
})
