// An SMTP port under clients that are honest, broken, slow and hostile. The door behind it only notes what it was given.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { generate } from 'selfsigned'
import { TestClient } from './smtp-client.fixture.ts'
import type { ReceivedMail, SmtpDoor, SmtpLimits } from './smtp-door.ts'
import { networkOf, SmtpListener } from './smtp-listener.ts'

const { cert, private: key } = await generate([{ name: 'commonName', value: 'mx.test' }], { algorithm: 'sha256' })

type TestDoor = SmtpDoor<string, string>

interface Port {
  port: number
  listener: SmtpListener<string, string>
  received: ReceivedMail<string, string>[]
  faults: unknown[]
}

async function open(t: TestContext, door: Partial<TestDoor> = {}, limits: Partial<SmtpLimits> = {}): Promise<Port> {
  const received: ReceivedMail<string, string>[] = []
  const faults: unknown[] = []
  const listener = new SmtpListener<string, string>(
    {
      host: 'mx.test',
      sizeMax: 1_000_000,
      recipientsMax: 3,
      tls: { cert, key },
      authenticate: null,
      trustsClearText: () => true,
      admit: path => ({ kind: 'admitted', recipient: path }),
      receive: async mail => {
        received.push(mail)
        return '250 2.0.0 Ok'
      },
      onFault: error => faults.push(error),
      ...door,
    },
    { sweepMs: 10, closeMs: 50, ...limits },
  )
  const port = await listener.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => listener.close())
  return { port, listener, received, faults }
}

const takesPassword = { authenticate: async (attempt: { password: string }) => answerTo(attempt.password) }
const answerTo = (password: string) => (password === 'right' ? { login: 'user' } : '535 5.7.8 No')
const LOGIN = { username: 'user', password: 'right' }

test('a message arrives with its envelope', async t => {
  const { port, received } = await open(t)
  const client = await TestClient.open(t, port)
  assert.match(await client.reply(), /^220 mx\.test ESMTP/)
  const offer = await client.say('EHLO client.example')
  assert.deepEqual(
    offer.split('\r\n').map(line => line.slice(4)),
    ['mx.test greets you', 'PIPELINING', 'SIZE 1000000', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'STARTTLS'],
  )

  assert.equal(
    await client.send('A: b\r\n\r\n..hi\r\n', { from: '', to: ['a@x.example', 'b@x.example'] }),
    '250 2.0.0 Ok',
  )

  const [mail] = received
  assert.equal(mail?.from, '')
  assert.deepEqual(mail?.recipients, ['a@x.example', 'b@x.example'])
  assert.equal(mail?.source.toString(), 'A: b\r\n\r\n.hi\r\n')
  assert.deepEqual([mail?.client.ip, mail?.client.helo, mail?.client.isSecure], ['127.0.0.1', 'client.example', false])
  assert.equal(await client.say('QUIT'), '221 2.0.0 Bye')
  await client.closed()
})

test('pipelined commands are answered in order, whatever the pieces they come in', async t => {
  const { port, received } = await open(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  const session = 'MAIL FROM:<a@x.example>\r\nRCPT TO:<b@x.example>\r\nDATA\r\nA: b\r\n\r\nhi\r\n.\r\nNOOP\r\n'
  client.write(session)
  const codes = (replies: string[]) => replies.map(reply => reply.slice(0, 3))
  assert.deepEqual(codes(await client.replies(5)), ['250', '250', '354', '250', '250'])
  for (const byte of session) client.write(byte)
  assert.deepEqual(codes(await client.replies(5)), ['250', '250', '354', '250', '250'])
  assert.equal(received.length, 2)
  assert.deepEqual(received[1]?.source, received[0]?.source)
})

test('commands out of order are refused', async t => {
  const { port } = await open(t)
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

test('a recipient too many is put off, and the others are served', async t => {
  const { port, received } = await open(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  await client.say('MAIL FROM:<>')
  for (const name of ['a', 'b', 'c']) assert.match(await client.say(`RCPT TO:<${name}@x.example>`), /^250/)
  assert.match(await client.say('RCPT TO:<d@x.example>'), /^452 4\.5\.3/)
  await client.say('DATA')
  assert.match(await client.say('.'), /^250/)
  assert.equal(received[0]?.recipients.length, 3)
})

test('the door may refuse a recipient, also after thinking, and an error in it is not the client’s', async t => {
  const { port, faults } = await open(t, {
    admit: async path => {
      if (path.startsWith('bug')) throw new Error('a bug')
      return { kind: 'refused', reply: '550 5.1.1 Nobody' }
    },
  })
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nRCPT TO:<bug@x.example>\r\nDATA\r\n')
  assert.deepEqual(
    (await client.replies(4)).map(reply => reply.slice(0, 9)),
    ['250 2.1.0', '550 5.1.1', '451 4.3.0', '554 5.5.1'],
  )
  assert.equal(faults.length, 1)
})

test('an error while a message is taken answers 451 and leaves the session usable', async t => {
  const { port, faults } = await open(t, { receive: () => Promise.reject(new Error('with a secret')) })
  const client = await TestClient.open(t, port)
  await client.hello()
  const reply = await client.send('A: b\r\n\r\n')
  assert.match(reply, /^451 4\.3\.0/)
  assert.doesNotMatch(reply, /secret/)
  assert.equal(faults.length, 1)
  assert.match(await client.say('MAIL FROM:<>'), /^250/)
})

test('a message over the limit is refused at MAIL when announced, otherwise at its end', async t => {
  const { port, received } = await open(t, { sizeMax: 1_000 })
  const client = await TestClient.open(t, port)
  await client.hello()
  assert.match(await client.say('MAIL FROM:<> SIZE=1001'), /^552 5\.3\.4/)
  assert.match(await client.send(`${'x'.repeat(999)}\r\n`), /^552 5\.3\.4/)
  assert.match(await client.send(`${'x'.repeat(998)}\r\n`), /^250/)
  assert.equal(received.length, 1)
})

test('a message that is refused half-way is read to its end, and none of it is taken for a command', async t => {
  const { port, received } = await open(t, { sizeMax: 1_000 })
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
  const { port } = await open(t, { sizeMax: 1_000 })
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
  const { port } = await open(t)
  const client = await TestClient.open(t, port)
  await client.reply()
  for (const line of ['GET / HTTP/1.1', 'Host: x', '', 'RCPT TO:<x>']) assert.match(await client.say(line), /^50[023]/)
  assert.match(await client.say('FOO'), /^502/)
  assert.match(await client.reply(), /^421 4\.7\.0/)
  client.end()
  await client.closed()
})

test('a line may have 512 bytes, 2048 with AUTH or SMTPUTF8, and one without end is cut', async t => {
  const { port } = await open(t)
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
  const { port, received } = await open(t)
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
  const { port } = await open(t)
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

test('after STARTTLS everything begins anew', async t => {
  const { port, received } = await open(t, takesPassword)
  const client = await TestClient.open(t, port)
  await client.hello(LOGIN)
  assert.match(await client.say('STARTTLS x'), /^501/)
  assert.match(await client.say('STARTTLS'), /^220/)
  await client.secure()
  assert.match(await client.say('MAIL FROM:<>'), /^503/)
  const offer = await client.say('EHLO client.example')
  assert.doesNotMatch(offer, /STARTTLS/)
  assert.match(await client.say('MAIL FROM:<>'), /^530 5\.7\.0/)
  assert.match(await client.say('STARTTLS'), /^503/)
  assert.match(await client.login(LOGIN), /^235 2\.7\.0/)
  assert.match(await client.send('A: b\r\n\r\n'), /^250/)
  assert.equal(received[0]?.client.isSecure, true)
  assert.equal(received[0]?.login, 'user')
})

test('what was said in the clear behind STARTTLS is not obeyed', async t => {
  const { port, received } = await open(t)
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
  const { port } = await open(t, {}, { handshakeMs: 30 })
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

test('a login in clear text is neither offered nor taken from strangers', async t => {
  const { port } = await open(t, { ...takesPassword, trustsClearText: () => false })
  const client = await TestClient.open(t, port)
  assert.doesNotMatch(await client.hello(), /AUTH/)
  assert.match(await client.login(LOGIN), /^538 5\.7\.11/)
  await client.say('STARTTLS')
  await client.secure()
  assert.match(await client.say('EHLO client.example'), /AUTH PLAIN LOGIN/)
  assert.match(await client.login(LOGIN), /^235/)
  assert.match(await client.login(LOGIN), /^503/)
})

test('three failed logins end the session', async t => {
  const { port } = await open(t, takesPassword)
  const client = await TestClient.open(t, port)
  await client.hello()
  for (let n = 0; n < 3; n++) assert.match(await client.login({ ...LOGIN, password: 'wrong' }), /^535 5\.7\.8/)
  assert.match(await client.reply(), /^421 4\.7\.0/)
  client.end()
  await client.closed()
})

test('connections beyond the limit of an address or of all are turned away, and counted down again', async t => {
  for (const limits of [{ connectionsPerAddressMax: 2 }, { connectionsMax: 2 }]) {
    const { port, listener } = await open(t, {}, limits)
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
  }
})

test('an address in IPv6 counts with its /64', () => {
  assert.equal(networkOf('10.0.0.1'), '10.0.0.1')
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
  assert.equal(networkOf('2001:db8:1:2::9'), networkOf('2001:db8:1:2:ffff::'))
  assert.equal(networkOf('2001:db8::1'), '2001:db8:0:0')
  assert.equal(networkOf('::1'), '0:0:0:0')
})

test('silence, a trickle and a stalled message are cut', async t => {
  const silent = await open(t, {}, { commandMs: 40 })
  const quiet = await TestClient.open(t, silent.port)
  await quiet.hello()
  assert.match(await quiet.reply(), /^421 4\.4\.2/)

  const slow = await open(t, {}, { slowWindowMs: 40 })
  const stalled = await TestClient.open(t, slow.port)
  await stalled.hello()
  await stalled.say('MAIL FROM:<>')
  await stalled.say('RCPT TO:<a@x.example>')
  await stalled.say('DATA')
  stalled.write('A: b\r\n')
  assert.match(await stalled.reply(), /^421 4\.4\.2/)

  const long = await open(t, {}, { dataMs: 40 })
  const endless = await TestClient.open(t, long.port)
  await endless.hello()
  await endless.say('MAIL FROM:<>')
  await endless.say('RCPT TO:<a@x.example>')
  await endless.say('DATA')
  endless.write('x'.repeat(200_000))
  assert.match(await endless.reply(), /^421 4\.4\.2/)
  assert.equal([...silent.received, ...slow.received, ...long.received].length, 0)
})

test('a client that does not read its replies is not read either, and cut in the end', async t => {
  const { port, listener } = await open(t, {}, { commandMs: 100, farewellMs: 10 })
  const client = await TestClient.open(t, port)
  await client.hello()
  client.deafen()
  client.write('EHLO x\r\n'.repeat(200_000))
  await until(() => listener.connections === 0)
})

test('memory is shared: a large message waits for another to end, and loses nothing', async t => {
  const gate = Promise.withResolvers<string>()
  let taken = 0
  const { port } = await open(
    t,
    {
      receive: mail => {
        taken += mail.source.length
        return gate.promise
      },
    },
    { memoryBytesMax: 300_000, slowWindowMs: 60 },
  )
  const message = `${'x'.repeat(998)}\r\n`.repeat(300)
  const clients = [await TestClient.open(t, port), await TestClient.open(t, port), await TestClient.open(t, port)]
  for (const client of clients) {
    await client.hello()
    await client.say('MAIL FROM:<>')
    await client.say('RCPT TO:<a@x.example>')
    await client.say('DATA')
    client.write(message)
    client.write('.\r\n')
  }
  const replies = Promise.all(clients.map(client => client.reply()))
  await until(() => taken > 0)
  // Longer than the window of slow clients: those who wait for us are not slow.
  const begun = performance.now()
  await until(() => performance.now() - begun > 150)
  assert.ok(taken < 3 * message.length, 'not all fit at once')
  gate.resolve('250 2.0.0 Ok')
  for (const reply of await replies) assert.match(reply, /^250/)
  assert.equal(taken, 3 * message.length)
})

test('closing tells idle clients at once and lets a message end', async t => {
  const answer = Promise.withResolvers<string>()
  const { port, listener } = await open(t, { receive: () => answer.promise }, { closeMs: 10_000 })
  const idle = await TestClient.open(t, port)
  await idle.hello()
  const busy = await TestClient.open(t, port)
  await busy.hello()
  const reply = busy.send('A: b\r\n\r\n')
  await until(() => listener.connections === 2)
  const inData = await TestClient.open(t, port)
  await inData.hello()
  await inData.say('MAIL FROM:<>')
  await inData.say('RCPT TO:<a@x.example>')
  await inData.say('DATA')

  const closed = listener.close()
  assert.match(await idle.reply(), /^421 4\.3\.2/)
  await idle.closed()
  assert.equal(inData.isClosed, false)
  inData.write('A: b\r\n\r\n.\r\n')
  answer.resolve('250 2.0.0 Ok')
  assert.match(await reply, /^250/)
  assert.match(await busy.reply(), /^421 4\.3\.2/)
  assert.match(await inData.reply(), /^250/)
  await closed
  await assert.rejects(TestClient.open(t, port))
})

test('closing does not wait for ever', async t => {
  const { port, listener } = await open(t, { receive: () => new Promise(() => {}) }, { closeMs: 30 })
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\n.\r\n')
  await client.replies(3)
  await listener.close()
  await client.closed()
})

test('a client that has said its last word still hears the replies', async t => {
  const { port, received } = await open(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\nA: b\r\n\r\n.\r\n')
  client.end()
  assert.match((await client.replies(4))[3]!, /^250 2\.0\.0/)
  assert.equal(received.length, 1)
  await client.closed()
})

test('a message that breaks off is no message', async t => {
  const { port, listener, received } = await open(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\nA: b\r\n\r\nhalf')
  await client.replies(3)
  client.end()
  await client.closed()
  await until(() => listener.connections === 0)
  assert.equal(received.length, 0)
})

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!condition()) {
    assert.ok(performance.now() < deadline, 'it did not happen')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
