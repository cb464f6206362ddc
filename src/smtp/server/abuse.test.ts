// An SMTP port under clients that are broken, slow and hostile.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { TestClient } from './client.fixture.ts'
import { SMTP_LIMITS } from './door.ts'
import { networkOf, siteOf } from '../../platform/net/cidr.ts'
import { until } from '../../../test/support/eventually.ts'
import { LOGIN, openPort, takesPassword } from './port.fixture.ts'

test('commands out of order are refused', async t => {
  const { port } = await openPort(t)
  for (const [before, line, reply] of [
    [[], 'MAIL FROM:<a@x.example>', /^503 5\.5\.1/],
    [['EHLO x'], 'RCPT TO:<a@x.example>', /^503 5\.5\.1/],
    [['EHLO x'], 'DATA', /^503 5\.5\.1/],
    [['EHLO x', 'MAIL FROM:<>'], 'MAIL FROM:<>', /^503 5\.5\.1/],
    [['EHLO x', 'MAIL FROM:<>'], 'DATA', /^554 5\.5\.1/],
    [['EHLO x', 'MAIL FROM:<>', 'RCPT TO:<a@x.example>', 'RSET'], 'DATA', /^503 5\.5\.1/],
    [['EHLO x', 'MAIL FROM:<>', 'RCPT TO:<a@x.example>', 'EHLO x'], 'DATA', /^503 5\.5\.1/],
    [['EHLO x', 'MAIL FROM:<>'], 'STARTTLS', /^503 5\.5\.1/],
    [['EHLO x'], 'AUTH PLAIN', /^502 5\.5\.1/],
    [['EHLO x'], 'HELP', /^502 5\.5\.1/],
    [['EHLO x'], 'EXPN list', /^502 5\.5\.1/],
    [['EHLO x'], 'VRFY someone', /^252 2\.1\.5/],
    [[], 'EHLO', /^501 5\.5\.4/],
    [[], 'HELO a b', /^501 5\.5\.4/],
    [['HELO x'], 'MAIL FROM:<>', /^250 2\.1\.0/],
  ] as [string[], string, RegExp][]) {
    const client = await TestClient.open(t, port)
    await client.reply()
    for (const earlier of before) await client.say(earlier)
    assert.match(await client.say(line), reply, [...before, line].join(', '))
  }
})

test('a message that is refused half-way is read to its end, and none of it is taken for a command', async t => {
  const { port, received } = await openPort(t, { sizeMax: 1_000 })
  const client = await TestClient.open(t, port)
  await client.hello()
  const commands = 'MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\nsecond\r\n'
  for (const [first, reply] of [
    ['bare\nline\n.\n', /^550 5\.6\.0/],
    ['bare\r.\r', /^550 5\.6\.0/],
    [`${'x'.repeat(1_001)}\r\n`, /^552 5\.3\.4/],
  ] as [string, RegExp][]) {
    client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\n')
    await client.replies(3)
    for (const piece of [first, ...commands.split(/(?=\n)/), '\r\n', '.', '\r', '\n']) await client.writeAlone(piece)
    assert.match(await client.reply(), reply)
    assert.match(await client.say('NOOP'), /^250/)
    assert.equal(client.unread, '')
  }
  assert.equal(received.length, 0)
})

test('a client that sends without end is cut', async t => {
  const { port } = await openPort(t, { sizeMax: 1_000 })
  const client = await TestClient.open(t, port)
  await client.hello()
  await client.say('MAIL FROM:<>')
  await client.say('RCPT TO:<a@x.example>')
  await client.say('DATA')
  client.write('x'.repeat(2_001))
  assert.match(await client.reply(), /^552 5\.3\.4/)
  client.end()
  await client.closed()
})

test('five bad commands end the session', async t => {
  const { port } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.reply()
  for (const line of ['GET / HTTP/1.1', 'Host: x', '', 'RCPT TO:<x>']) assert.match(await client.say(line), /^50[023]/)
  assert.match(await client.say('FOO'), /^502/)
  assert.match(await client.reply(), /^421 4\.7\.0/)
  client.end()
  await client.closed()
})

test('a line may have 512 bytes, 2048 with AUTH or SMTPUTF8, and one without end is cut', async t => {
  const { port } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  assert.match(await client.say(`NOOP ${'x'.repeat(505)}`), /^250/)
  assert.match(await client.say(`NOOP ${'x'.repeat(506)}`), /^500 5\.5\.2/)
  assert.match(await client.say(`MAIL FROM:<> SMTPUTF8${' '.repeat(600)}`), /^250/)
  client.write('x'.repeat(2_100))
  assert.match(await client.reply(), /^500 5\.5\.2/)
  client.end()
  await client.closed()
})

test('a bare CR, a bare LF or a NUL in a command ends the session, and nothing behind it is obeyed', async t => {
  const { port, received } = await openPort(t)
  const rest = 'MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\n.\r\n'
  for (const bad of ['NOOP\n', 'NOOP\rx\r\n', 'NOOP\0\r\n', '\n', `NOOP x\n${rest}`, 'NO\nOP\r\n']) {
    const client = await TestClient.open(t, port)
    await client.hello()
    client.write(`${bad}${rest}`)
    assert.match(await client.reply(), /^550 5\.6\.0/, JSON.stringify(bad))
    client.end()
    await client.closed()
    assert.equal(client.unread, '')
  }
  assert.equal(received.length, 0)
})

test('what is no text is no command', async t => {
  const { port } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write(Buffer.from('NOOP \xff\xfe\r\n', 'latin1'))
  assert.match(await client.reply(), /^500 5\.5\.2/)
  client.write('NOOP \u0007\r\n')
  assert.match(await client.reply(), /^500 5\.5\.2/)
  assert.match(await client.say('BDAT 5 LAST'), /^502 5\.5\.1/)
  client.end()
  await client.closed()
})

test('a second handshake within the connection is refused, so that a message cannot turn into commands', async t => {
  const { port, received } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  await client.say('STARTTLS')
  await client.secure({ maxVersion: 'TLSv1.2' })
  await client.say('EHLO client.example')
  await client.say('MAIL FROM:<me@acme.example>')
  await client.say('RCPT TO:<you@example.com>')
  await client.say('DATA')
  await client.writeAlone('Subject: half\r\n\r\n')

  assert.equal(await client.renegotiate(), 'refused')

  assert.equal(client.unread, '')
  assert.deepEqual(received, [])
})

test('STARTTLS is taken once: what is pipelined behind it is dropped, and later it is refused', async t => {
  const { port } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('STARTTLS\r\nSTARTTLS\r\n')
  assert.match(await client.reply(), /^220/)
  await client.secure()
  assert.equal(client.unread, '')

  client.write('EHLO client.example\r\nSTARTTLS\r\nSTARTTLS\r\nNOOP\r\n')
  const [, ...replies] = await client.replies(4)

  assert.deepEqual(
    replies.map(reply => reply.slice(0, 3)),
    ['503', '503', '250'],
  )
})

test('what was said in the clear behind STARTTLS is not obeyed', async t => {
  const { port, received } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<evil@x.example>\r\nRCPT TO:<a@x.example>\r\n')
  assert.match(await client.reply(), /^220/)
  await client.secure()
  assert.match(await client.say('RCPT TO:<a@x.example>'), /^503/)
  assert.equal(client.unread, '')
  assert.equal(received.length, 0)
})

test('a handshake that does not come, or is none, ends the connection', async t => {
  const { port } = await openPort(t, {}, { handshakeMs: 30 })
  const silent = await TestClient.open(t, port)
  await silent.hello()
  await silent.say('STARTTLS')
  await silent.closed()
  const rude = await TestClient.open(t, port)
  await rude.hello()
  await rude.say('STARTTLS')
  rude.write('MAIL FROM:<>\r\n')
  await rude.closed()
})

test('connections beyond the limit of an address are turned away, and counted down again', async t => {
  const { port, listener } = await openPort(t, {}, { connectionsPerAddressMax: 2 })
  const [first, second] = [await TestClient.open(t, port), await TestClient.open(t, port)]
  await first.hello()
  await second.hello()
  const third = await TestClient.open(t, port)
  assert.match(await third.reply(), /^421 4\.7\.0/)
  await third.closed()
  await first.say('QUIT')
  first.end()
  await until(() => listener.connections === 1)
  const fourth = await TestClient.open(t, port)
  assert.match(await fourth.reply(), /^220/)
  assert.equal(listener.connections, 2)
})

/** Says MAIL, RCPT and DATA. */
async function begin(client: TestClient): Promise<void> {
  await client.hello()
  for (const line of ['MAIL FROM:<a@x.example>', 'RCPT TO:<b@x.example>', 'DATA']) await client.say(line)
}

test('on a full port the client longest without a message makes room, whatever else it says', async t => {
  const { port, listener, received } = await openPort(t, {}, { connectionsMax: 3 })
  const sending = await TestClient.open(t, port)
  await begin(sending)
  const idle = await TestClient.open(t, port)
  await idle.hello()
  const served = await TestClient.open(t, port)
  await begin(served)
  assert.match(await served.say('.'), /^250/)
  assert.match(await idle.say('NOOP'), /^250/)

  const fourth = await TestClient.open(t, port)

  await fourth.hello()
  assert.match(await idle.reply(), /^421 4\.7\.0/)
  idle.end()
  await idle.closed()
  assert.match(await served.say('NOOP'), /^250/)
  assert.match(await sending.say('Subject: x\r\n\r\nx\r\n.'), /^250/)
  assert.equal(received.length, 2)
  assert.equal(listener.connections, 3)
})

test('transactions that do not go on make room too, and a port full of messages turns the next client away', async t => {
  const { port } = await openPort(t, {}, { connectionsMax: 2 })
  const stalled = await TestClient.open(t, port)
  await stalled.hello()
  await stalled.say('MAIL FROM:<a@x.example>')
  const sending = await TestClient.open(t, port)
  await begin(sending)

  const third = await TestClient.open(t, port)
  await begin(third)
  const fourth = await TestClient.open(t, port)

  assert.match(await stalled.reply(), /^421 4\.7\.0/)
  assert.match(await fourth.reply(), /^421 4\.7\.0/)
  for (const client of [sending, third]) assert.match(await client.say('Subject: x\r\n\r\nx\r\n.'), /^250/)
})

test('recipients without a message do not keep a connection', async t => {
  const { port } = await openPort(t, {}, { connectionsMax: 2 })
  const stalling = await TestClient.open(t, port)
  await stalling.hello()
  await stalling.say('MAIL FROM:<a@x.example>')
  const idle = await TestClient.open(t, port)
  await idle.hello()
  await stalling.say('RCPT TO:<b@x.example>')

  const third = await TestClient.open(t, port)

  await third.hello()
  assert.match(await stalling.reply(), /^421 4\.7\.0/)
  assert.match(await idle.say('NOOP'), /^250/)
})

test('recipients beyond what a transaction takes are refused a thousand times, then the session ends', async t => {
  const { port } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  await client.say('MAIL FROM:<a@x.example>')
  for (let n = 0; n < 3; n++) assert.match(await client.say(`RCPT TO:<b${n}@x.example>`), /^250/)
  for (let n = 0; n < 1_000; n++) assert.match(await client.say('RCPT TO:<c@x.example>'), /^452 4\.5\.3/)
  assert.match(await client.reply(), /^421 4\.7\.0/)
})

test('a client that was dismissed and does not read is cut, and does not keep the port from closing', async t => {
  const receive = async (): Promise<string> => `250 ${'x'.repeat(50_000_000)}`
  const { port, listener } = await openPort(t, { receive }, { connectionsMax: 1, farewellMs: 60_000 })
  const deaf = connect({ port, host: '127.0.0.1' })
  t.after(() => deaf.destroy())
  deaf.on('error', () => {})
  deaf.write('EHLO x\r\nMAIL FROM:<a@x.example>\r\nRCPT TO:<b@x.example>\r\nDATA\r\nSubject: x\r\n\r\nx\r\n.\r\n')
  await until(() => listener.connections === 1)
  // Its message has been taken when it can make room.
  let second = await TestClient.open(t, port)
  while ((await second.reply()).startsWith('421')) second = await TestClient.open(t, port)

  await listener.close()

  assert.equal(listener.connections, 0)
})

test('a hundred commands without a message are answered, the next one ends the session', async t => {
  const { port } = await openPort(t, { sizeMax: 10 })
  for (const [line, reply] of [
    ['NOOP', /^250/],
    ['RSET', /^250/],
    ['VRFY x', /^252/],
    ['EHLO x', /^250/],
    ['MAIL FROM:<> SIZE=11', /^552/],
  ] as [string, RegExp][]) {
    const client = await TestClient.open(t, port)
    await client.hello()
    for (let n = 1; n < 100; n++) assert.match(await client.say(line), reply)
    assert.match(await client.say(line), /^421 4\.7\.0/, line)
    client.end()
    await client.closed()
  }
})

test('a hundred refused recipients end the session, and a message sets their count back', async t => {
  const { port } = await openPort(t, {
    admit: path =>
      path.startsWith('known')
        ? { kind: 'admitted', recipient: path }
        : { kind: 'refused', reply: '550 5.1.1 No such recipient here' },
  })
  const client = await TestClient.open(t, port)
  await client.hello()
  const guess = async (times: number): Promise<void> => {
    await client.say('MAIL FROM:<>')
    for (let n = 0; n < times; n++) assert.match(await client.say(`RCPT TO:<x${n}@here.example>`), /^550 5\.1\.1 .*$/)
  }
  await guess(99)
  assert.match(await client.say('RCPT TO:<known@here.example>'), /^250/)
  await client.say('DATA')
  assert.match(await client.say('Subject: x\r\n\r\nx\r\n.'), /^250/)
  await guess(99)
  assert.match(await client.say('RCPT TO:<x@here.example>'), /^550/)
  assert.match(await client.reply(), /^421 4\.7\.0/)
  client.end()
  await client.closed()
})

test('a message between them sets the count of idle commands back', async t => {
  const { port } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  for (let round = 0; round < 2; round++) {
    assert.match(await client.send('Subject: x\r\n\r\nx\r\n'), /^250/)
    for (let n = 0; n < 90; n++) assert.match(await client.say('NOOP'), /^250/)
  }
})

test('an address in IPv6 counts with its /64, and with its /48 for memory', () => {
  assert.equal(networkOf('10.0.0.1'), '10.0.0.1')
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:0db8:0001:0002')
  assert.equal(networkOf('2001:db8:1:2::9'), networkOf('2001:db8:1:2:ffff::'))
  assert.equal(networkOf('2001:db8::1'), '2001:0db8:0000:0000')
  assert.equal(networkOf('::1'), '0000:0000:0000:0000')
  assert.equal(siteOf('::ffff:10.0.0.1'), '10.0.0.1')
  assert.equal(siteOf('2001:db8:1:2::9'), '2001:0db8:0001')
  assert.equal(siteOf('2001:db8:1:ffff::9'), siteOf('2001:db8:1::'))
})

test('silence, a trickle and a stalled message are cut', async t => {
  const silent = await openPort(t, {}, { commandMs: 40 })
  const quiet = await TestClient.open(t, silent.port)
  await quiet.hello()
  assert.match(await quiet.reply(), /^421 4\.4\.2/)

  const slow = await openPort(t, {}, { slowWindowMs: 40 })
  const stalled = await TestClient.open(t, slow.port)
  await stalled.hello()
  await stalled.say('MAIL FROM:<>')
  await stalled.say('RCPT TO:<a@x.example>')
  await stalled.say('DATA')
  stalled.write('A: b\r\n')
  assert.match(await stalled.reply(), /^421 4\.4\.2/)

  const long = await openPort(t, {}, { dataMs: 40 })
  const endless = await TestClient.open(t, long.port)
  await endless.hello()
  await endless.say('MAIL FROM:<>')
  await endless.say('RCPT TO:<a@x.example>')
  await endless.say('DATA')
  endless.write('x'.repeat(200_000))
  assert.match(await endless.reply(), /^421 4\.4\.2/)
  assert.equal([...silent.received, ...slow.received, ...long.received].length, 0)
})

test('a client may pause inside a message, unless more than half of the connections are taken', async t => {
  assert.ok(SMTP_LIMITS.slowWindowMs >= 180_000)
  const limits = { connectionsMax: 4, slowWindowMs: 60_000, slowWindowMsWhileShort: 40 }
  const { port, received } = await openPort(t, {}, limits)
  const pausing = await TestClient.open(t, port)
  await begin(pausing)
  pausing.write('Subject: x\r\n')
  const began = performance.now()
  await until(() => performance.now() - began > 3 * limits.slowWindowMsWhileShort)
  assert.match(await pausing.say('\r\nx\r\n.'), /^250/)

  for (const line of ['MAIL FROM:<a@x.example>', 'RCPT TO:<b@x.example>', 'DATA']) await pausing.say(line)
  for (let n = 0; n < 2; n++) await (await TestClient.open(t, port)).hello()
  assert.match(await pausing.reply(), /^421 4\.4\.2/)
  assert.equal(received.length, 1)
})

test('clients of many addresses that fill the memory and go silent keep no large message out', async t => {
  const limits = { memoryBytesMax: 4_000_000, stalledMs: 50, slowWindowMs: 100_000 }
  const { port, received } = await openPort(t, { sizeMax: 10_000_000 }, limits)
  const piece = `${'x'.repeat(998)}\r\n`.repeat(1_000)
  const stalled = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      const client = await TestClient.open(t, port, `127.0.1.${n + 1}`)
      await begin(client)
      client.write(piece.repeat(3))
      return client
    }),
  )
  const victim = await TestClient.open(t, port)
  await victim.hello()
  const began = performance.now()

  assert.match(await victim.send(piece.repeat(2)), /^250/)

  // A window of the slowest rate, after which one of them would have been cut.
  assert.ok(performance.now() - began < limits.slowWindowMs)
  assert.equal(received.length, 1)
  const told = stalled.filter(client => client.unread !== '')
  assert.ok(told.length > 0)
  for (const client of told) assert.match(client.unread, /^421 4\.3\.1/)
})

test('a client that sends slowly but steadily is not cut although memory is short', async t => {
  const limits = { memoryBytesMax: 400_000, stalledMs: 200 }
  const { port, received } = await openPort(t, {}, limits)
  const line = `${'x'.repeat(998)}\r\n`
  const slow = await TestClient.open(t, port, '127.0.1.1')
  await begin(slow)
  await slow.writeAlone(line.repeat(300))
  const waiting = await TestClient.open(t, port)
  await begin(waiting)
  await waiting.writeAlone(line.repeat(400))

  for (let n = 0; n < 20; n++) {
    slow.write(line)
    await new Promise(resolve => setTimeout(resolve, 20))
  }

  assert.match(await slow.say('.'), /^250/)
  assert.match(await waiting.say('.'), /^250/)
  assert.equal(received.length, 2)
})

test('a client that does not read its replies is not read either, and cut in the end', async t => {
  let asked = 0
  const admit = () => {
    asked += 1
    return { kind: 'refused', reply: `550 5.1.1 ${'x'.repeat(400)}` } as const
  }
  const { port, listener } = await openPort(t, { admit }, { commandMs: 200, farewellMs: 10 })
  const client = await TestClient.open(t, port)
  await client.hello()
  await client.say('MAIL FROM:<>')
  client.deafen()
  const lines = 400_000
  client.write('RCPT TO:<a@x.example>\r\n'.repeat(lines))
  await until(() => listener.connections === 0)
  assert.ok(asked < lines / 2, `${asked} of ${lines} were answered although nobody read the answers`)
})

test('a message that breaks off is no message', async t => {
  const { port, listener, received } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\nA: b\r\n\r\nhalf')
  await client.replies(3)
  client.end()
  await client.closed()
  await until(() => listener.connections === 0)
  assert.equal(received.length, 0)
})

test('no bytes from outside stop the port', async t => {
  const { port, listener, faults } = await openPort(t, takesPassword, { connectionsPerAddressMax: 500 })
  const words = [
    'EHLO x',
    'AUTH PLAIN',
    'AUTH LOGIN',
    'MAIL FROM:<>',
    'RCPT TO:<a@b>',
    'DATA',
    'STARTTLS',
    '.',
    '*',
    'RSET',
  ]
  const piece = fc.oneof(
    fc.constantFrom(...words.flatMap(word => [`${word}\r\n`, `${word}\n`, word])).map(text => Buffer.from(text)),
    fc.constantFrom(Buffer.from('\r\n'), Buffer.from('\r\n.\r\n'), Buffer.from(`AUTH PLAIN AHVzZXIAcmlnaHQ=\r\n`)),
    fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)),
  )
  for (const pieces of fc.sample(fc.array(piece, { maxLength: 30 }), 100)) {
    const client = await TestClient.open(t, port)
    for (const bytes of pieces) client.write(bytes)
    client.end()
  }
  await until(() => listener.connections === 0)
  assert.deepEqual(faults, [])
  const client = await TestClient.open(t, port)
  await client.hello(LOGIN)
  assert.match(await client.send('A: b\r\n\r\n'), /^250/)
})
