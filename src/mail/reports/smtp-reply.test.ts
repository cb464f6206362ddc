import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { formatReply, parseReply } from './smtp-reply.ts'
import { anyText } from '../../../test/support/any-text.ts'

test('one line is read', () => {
  assert.deepEqual(parseReply('250 2.1.5 OK\r\n'), { code: 250, enhanced: '2.1.5', text: 'OK' })
  assert.deepEqual(parseReply('550 User unknown'), { code: 550, enhanced: null, text: 'User unknown' })
  assert.deepEqual(parseReply('550'), { code: 550, enhanced: null, text: '' })
})

test('several lines become one sentence, their codes said once', () => {
  const raw =
    '550-5.1.1 The email account that you tried to reach does\r\n550-5.1.1 not exist.\r\n550 5.1.1 x - gsmtp\r\n'
  assert.deepEqual(parseReply(raw), {
    code: 550,
    enhanced: '5.1.1',
    text: 'The email account that you tried to reach does not exist. x - gsmtp',
  })
})

test('an enhanced code in an odd place is found where it is marked', () => {
  assert.equal(parseReply('550 #5.1.0 Address rejected.').enhanced, '5.1.0')
  assert.equal(parseReply('553 sorry, not in my list (#5.7.1)').enhanced, '5.7.1')
  assert.equal(parseReply('554 failed [5.1.1]').enhanced, '5.1.1')
  assert.equal(parseReply('550-first\r\n550 5.2.2 second').enhanced, '5.2.2')
})

test('a version or an IP address is no enhanced code', () => {
  assert.equal(parseReply('554 5.45.12.9 is listed').enhanced, null)
  assert.equal(parseReply('554 blocked [5.45.12.9]').enhanced, null)
  assert.equal(parseReply('220 mail.example Exim 4.98.1').enhanced, null)
})

test('garbage is kept as text with code 0', () => {
  assert.deepEqual(parseReply(''), { code: 0, enhanced: null, text: '' })
  assert.deepEqual(parseReply('HTTP/1.1 400 Bad'), { code: 0, enhanced: null, text: 'HTTP/1.1 400 Bad' })
  assert.deepEqual(parseReply('hello\n550 no'), { code: 550, enhanced: null, text: 'hello no' })
  assert.equal(parseReply('12345 hello').code, 0)
})

test('whatever came, the text is short and holds no control characters', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 5000 }), raw => {
      const { text } = parseReply(raw)
      assert(text.length <= 2000 && text.isWellFormed())
      assert.doesNotMatch(text, /\p{Cc}/u)
    }),
  )
})

test('a reply is written back as one line', () => {
  assert.equal(formatReply(parseReply('550-5.1.1 a\r\n550 5.1.1 b')), '550 5.1.1 a b')
  assert.equal(formatReply({ code: 0, enhanced: null, text: 'timeout' }), 'timeout')
})
