// Logs are JSON lines without secrets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from './log.ts'

test('fields that carry secrets are blanked, and what they were given is left as it was', () => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const headers = { authorization: 'Bearer svc_canary', accept: '*/*' }

  log.info({ headers, password: 'canary', note: 'kept' }, 'hello')

  const line = JSON.parse(lines[0]!)
  assert.equal(line.password, '[hidden]')
  assert.deepEqual(line.headers, { authorization: '[hidden]', accept: '*/*' })
  assert.equal(line.note, 'kept')
  assert.equal(line.level, 'info')
  assert.match(line.time, /^\d{4}-.*Z$/)
  assert.equal(headers.authorization, 'Bearer svc_canary')
})
