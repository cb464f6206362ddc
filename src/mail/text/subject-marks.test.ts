import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subjectMark } from './subject-marks.ts'

test('marks of answers and of forwarded mail are told apart, in whatever language', () => {
  for (const subject of ['Re: x', 'AW: x', 'Odp: x', '回复:x', '返信：x', '[EXTERNAL] Re[2]: x', 'Antwort: x']) {
    assert.equal(subjectMark(subject)?.kind, 'reply', subject)
  }
  for (const subject of ['Fwd: x', 'FW: x', 'WG: x', 'Enc: x', '转发：x', 'Doorst: x']) {
    assert.equal(subjectMark(subject)?.kind, 'forward', subject)
  }
  for (const subject of ['', 'x', 'Report: x', 'Reminder: x', 'Re x']) assert.equal(subjectMark(subject), null, subject)
  assert.equal(subjectMark('Re: x')?.length, 3)
})
