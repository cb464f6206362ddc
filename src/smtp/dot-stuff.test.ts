import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { dotStuff, endOfData } from './dot-stuff.ts'

const onTheWire = (source: Buffer): string => Buffer.concat([dotStuff(source), endOfData(source)]).toString('latin1')

test('a message without a leading dot is sent as it is, not copied', () => {
  const source = Buffer.from('Subject: x\r\n\r\na.b\r\n c.\r\n')
  assert.equal(dotStuff(source), source)
  assert.equal(onTheWire(source), 'Subject: x\r\n\r\na.b\r\n c.\r\n.\r\n')
})

test('a dot that opens a line is doubled, also in the first line', () => {
  assert.equal(onTheWire(Buffer.from('.a\r\n.\r\n..b\r\nc')), '..a\r\n..\r\n...b\r\nc\r\n.\r\n')
})

test('an empty message ends at once', () => {
  assert.equal(onTheWire(Buffer.alloc(0)), '.\r\n')
})

test('a receiver that undoes the dots has the message, and sees its end nowhere earlier', () => {
  const sources = fc
    .array(fc.constantFrom('.', 'a', '\r\n', '\r\n.\r\n'), { maxLength: 30 })
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(sources, source => {
      const wire = onTheWire(Buffer.from(source))
      const end = wire.startsWith('.\r\n') ? 0 : wire.indexOf('\r\n.\r\n') + 2
      assert.equal(end, wire.length - 3)
      const received = wire.slice(0, end).replace(/(^|\r\n)\./g, '$1')
      assert.equal(received, source === '' || source.endsWith('\r\n') ? source : `${source}\r\n`)
    }),
  )
})
