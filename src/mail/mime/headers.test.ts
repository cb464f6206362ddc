import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import {
  displayValue,
  findBareLineBreak,
  isHeaderTooLarge,
  prependLines,
  readFields,
  readHeader,
  removeFields,
  splitSource,
  valueOf,
  valuesOf,
} from './headers.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'
import { readRawMail } from '../authentication/header-fields.ts'

const SOURCE = Buffer.from(
  'Received: from a\r\n\tby b\r\nBCC: secret@example.com,\r\n other@example.com\r\nSubject: =?UTF-8?Q?Gr=C3=BCn?=\r\n' +
    'received: from c\r\nX-Service-Tag: a\r\nTo: grün@example.com\r\nX-Empty:\r\n\r\nBcc: body\r\n\r\nbody\r\n',
)

test('header and body are split at the first blank line', () => {
  const split = (text: string) => {
    const { headerEnd, bodyStart } = splitSource(Buffer.from(text))
    return [text.slice(0, headerEnd), text.slice(bodyStart)]
  }
  assert.deepEqual(split('A: b\r\n\r\nbody\r\n\r\nmore'), ['A: b\r\n', 'body\r\n\r\nmore'])
  assert.deepEqual(split('\r\nbody'), ['', 'body'])
  assert.deepEqual(split('A: b\r\n'), ['A: b\r\n', ''])
  assert.deepEqual(split(''), ['', ''])
})

test('fields are read unfolded, in their order, whatever the case of their names', () => {
  const fields = readHeader(SOURCE)
  assert.deepEqual(valuesOf(fields, 'RECEIVED'), ['from a\tby b', 'from c'])
  assert.equal(valueOf(fields, 'bcc'), 'secret@example.com, other@example.com')
  assert.equal(valueOf(fields, 'to'), 'grün@example.com')
  assert.equal(valueOf(fields, 'x-empty'), '')
  assert.equal(valueOf(fields, 'x-missing'), null)
})

test('a block with bare line feeds and lines that are no fields is read as far as it goes', () => {
  const fields = readFields('Subject: a\n b\nnonsense\nName : value\n')
  assert.deepEqual(fields, [
    { name: 'Subject', lowerName: 'subject', value: 'a b' },
    { name: '', lowerName: '', value: 'nonsense' },
    { name: 'Name', lowerName: 'name', value: 'value' },
  ])
})

test('a removed field takes its folded lines with it; the body stays as it is', () => {
  const cleaned = removeFields(SOURCE, name => name === 'bcc' || name.startsWith('x-service-')).toString()
  assert.equal(
    cleaned,
    SOURCE.toString()
      .replace('BCC: secret@example.com,\r\n other@example.com\r\n', '')
      .replace('X-Service-Tag: a\r\n', ''),
  )
})

test('removing nothing gives the same buffer', () => {
  assert.equal(
    removeFields(SOURCE, name => name === 'x-none'),
    SOURCE,
  )
})

test('a header of more than 1 MiB is noticed, read in part and never edited in part', () => {
  const huge = Buffer.from(`Subject: a\r\n${'X: y\r\n'.repeat(200_000)}Bcc: b@example.com\r\n\r\n`)
  assert(isHeaderTooLarge(huge))
  assert(!isHeaderTooLarge(SOURCE))
  assert.equal(valueOf(readHeader(huge), 'subject'), 'a')
  assert.throws(() => removeFields(huge, name => name === 'bcc'), RangeError)
})

test('many lines without a colon are read in one pass', () => {
  const cpuMs = cpuStopwatch()
  assert.equal(readFields(`${'a\n'.repeat(400_000)}b: c\n`).at(-1)?.value, 'c')
  assert(cpuMs() < 2000, 'about 150 ms on a small machine')
})

test('lines are put before the header', () => {
  const source = prependLines(SOURCE, 'X-First: grün\r\n')
  assert.equal(readHeader(source)[0]!.value, 'grün')
  assert.deepEqual(source.subarray(-SOURCE.length), SOURCE)
})

test('a value for people has its words decoded and no control characters', () => {
  assert.equal(displayValue('=?UTF-8?Q?Gr=C3=BCn?= und =?UTF-8?Q?b=0D=0Alau?='), 'Grün und b lau')
})

test('a bare CR, a bare LF and a NUL are found where they stand', () => {
  assert.equal(findBareLineBreak(Buffer.from('')), -1)
  assert.equal(findBareLineBreak(Buffer.from('a\r\n.\r\nb\t\x0b\r\n\r\n')), -1)
  assert.equal(findBareLineBreak(Buffer.from('\n')), 0)
  assert.equal(findBareLineBreak(Buffer.from('a\r')), 1)
  assert.equal(findBareLineBreak(Buffer.from('a\r\r\n')), 1)
  assert.equal(findBareLineBreak(Buffer.from('a\r\n\n')), 3)
  assert.equal(findBareLineBreak(Buffer.from('a\r\n\0')), 3)
})

test('a line break at the seam of two scanned blocks is whole', () => {
  for (const length of [65_534, 65_535, 65_536]) {
    const before = 'x'.repeat(length)
    assert.equal(findBareLineBreak(Buffer.from(`${before}\r\n${before}\r\n`)), -1)
    assert.equal(findBareLineBreak(Buffer.from(`${before}\n${before}`)), length)
    assert.equal(findBareLineBreak(Buffer.from(`${before}\r${before}`)), length)
    assert.equal(findBareLineBreak(Buffer.from(`${before}\r\n\n${before}`)), length + 2)
  }
})

test('the first bare line break is the one a plain search would find', () => {
  const pieces = fc.array(fc.constantFrom('a', '\r', '\n', '\r\n', '\0', '\t', 'ü'), { maxLength: 20 })
  fc.assert(
    fc.property(pieces, parts => {
      const text = Buffer.from(parts.join('')).toString('latin1')
      assert.equal(findBareLineBreak(Buffer.from(text, 'latin1')), text.search(/\r(?!\n)|(?<!\r)\n|\0/))
    }),
  )
})

test('a name of a megabyte of blanks is read in linear time, as a field and as a line that is signed', () => {
  const cpuMs = cpuStopwatch()
  const [field] = readHeader(Buffer.from(`X${' '.repeat(1_000_000)}y: 1\r\n\r\n`))
  const raw = readRawMail(Buffer.from(`X${' '.repeat(250_000)}y: 1\r\n\r\n`))

  assert.equal(field!.value, '1')
  assert.equal(raw!.fields.length, 1)
  assert.ok(cpuMs() < 250)
})
