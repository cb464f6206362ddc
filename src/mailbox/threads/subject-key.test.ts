import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subjectKey } from './subject-key.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

test('answers and forwarded mail share the key of the first mail, in whatever language a client marks them', () => {
  for (const subject of [
    'Quarterly numbers',
    'Re: Quarterly numbers',
    'RE: FW: Quarterly  Numbers',
    'AW: WG: Quarterly numbers',
    'Re[2]: Quarterly numbers',
    'Rif: R: Quarterly numbers',
    'SV: VS: Quarterly numbers',
    'Odp: Quarterly numbers',
    '回复:Quarterly numbers',
    'Ответ: Quarterly numbers',
    '[EXTERNAL] Re: Quarterly numbers',
  ]) {
    assert.equal(subjectKey(subject), 'quarterly numbers', subject)
  }
})

test('what only looks like a mark stays', () => {
  assert.equal(subjectKey('Reminder: rent'), 'reminder: rent')
  assert.equal(subjectKey('Report: Q3'), 'report: q3')
})

test('nothing but marks leaves nothing', () => {
  assert.equal(subjectKey(''), '')
  assert.equal(subjectKey('Re: Fwd:  '), '')
})

test('a subject of many thousand marks takes no time', () => {
  const cpuMs = cpuStopwatch()
  subjectKey('Re: '.repeat(100_000))
  subjectKey(' '.repeat(500_000))
  assert.ok(cpuMs() < 100)
})
