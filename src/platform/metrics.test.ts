// What a scrape is answered with, from the first one on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

function valueOf(text: string, name: string): number {
  const line = text.split('\n').find(each => each.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}

test('the first scrape tells of all CPU that the process has used, and of the event loop in numbers', async () => {
  const { user, system } = process.cpuUsage()
  const text = await createMetrics().text()
  assert.ok(valueOf(text, 'process_cpu_seconds_total') >= (user + system) / 1e6)
  assert.ok(valueOf(text, 'process_cpu_user_seconds_total') >= user / 1e6)
  for (const kind of ['min', 'mean', 'max', 'p99']) {
    const seconds = valueOf(text, `nodejs_eventloop_lag_${kind}_seconds`)
    assert.ok(seconds > 0 && seconds < 5, `${kind} ${seconds}`)
  }
})
