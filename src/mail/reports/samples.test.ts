// Samples of bounces and complaints, and what is read from each: `test/fixtures/reports`, a mail and its values side by side.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'node:test'
import { parseMail } from '../mime/parse.ts'
import { readArf } from './arf.ts'
import { classifyDsn, readDsn } from './dsn.ts'

const FOLDER = fileURLToPath(new URL('../../../test/fixtures/reports/', import.meta.url))

async function mailIn(path: string) {
  const mail = parseMail(new Uint8Array(readFileSync(path)))
  assert(mail.kind === 'mail')
  return mail
}

const plainly = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const samples = globSync('*.eml', { cwd: FOLDER }).toSorted()

test('there are samples', () => assert.ok(samples.length > 70))

for (const name of samples) {
  test(`${basename(name, '.eml')} is read as labelled`, async () => {
    const mail = await mailIn(FOLDER + name)
    const labels = JSON.parse(readFileSync(FOLDER + name.replace(/\.eml$/, '.json'), 'utf8'))
    if ('complaint' in labels) {
      assert.deepEqual(plainly(readArf(mail)), labels.complaint)
    } else {
      const reports = readDsn(mail).map(report => ({ ...report, class: classifyDsn(report).class }))
      assert.deepEqual(plainly(reports), labels.reports)
    }
  })
}
