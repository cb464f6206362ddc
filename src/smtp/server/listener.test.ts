// An SMTP port and its honest clients: messages, replies, TLS, logins, shared memory, and an end without loss.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TestClient } from './client.fixture.ts'
import { until } from '../../../test/support/eventually.ts'
import { LOGIN, openPort, takesPassword } from './port.fixture.ts'

test('a message arrives with its envelope', async t => {
  const { port, received } = await openPort(t)
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
  const { port, received } = await openPort(t)
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

test('a recipient too many is deferred, and the others are served', async t => {
  const { port, received } = await openPort(t)
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
  const { port, faults } = await openPort(t, {
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
  const { port, faults } = await openPort(t, { receive: () => Promise.reject(new Error('with a secret')) })
  const client = await TestClient.open(t, port)
  await client.hello()
  const reply = await client.send('A: b\r\n\r\n')
  assert.match(reply, /^451 4\.3\.0/)
  assert.doesNotMatch(reply, /secret/)
  assert.equal(faults.length, 1)
  assert.match(await client.say('MAIL FROM:<>'), /^250/)
})

test('a message over the limit is refused at MAIL when announced, otherwise at its end', async t => {
  const { port, received } = await openPort(t, { sizeMax: 1_000 })
  const client = await TestClient.open(t, port)
  await client.hello()
  assert.match(await client.say('MAIL FROM:<> SIZE=1001'), /^552 5\.3\.4/)
  assert.match(await client.send(`${'x'.repeat(999)}\r\n`), /^552 5\.3\.4/)
  assert.match(await client.send(`${'x'.repeat(998)}\r\n`), /^250/)
  assert.equal(received.length, 1)
})

test('after STARTTLS everything begins anew', async t => {
  const { port, received } = await openPort(t, takesPassword)
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

test('a login in clear text is neither offered nor taken from strangers', async t => {
  const { port } = await openPort(t, { ...takesPassword, trustsClearText: () => false })
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
  const { port } = await openPort(t, takesPassword)
  const client = await TestClient.open(t, port)
  await client.hello()
  for (let n = 0; n < 3; n++) assert.match(await client.login({ ...LOGIN, password: 'wrong' }), /^535 5\.7\.8/)
  assert.match(await client.reply(), /^421 4\.7\.0/)
  client.end()
  await client.closed()
})

test('memory is shared: a large message waits for another to end, and its wait does not count', async t => {
  const answer = Promise.withResolvers<string>()
  let taken = 0
  const receive = (mail: { takeSource: () => Buffer }) => {
    taken += mail.takeSource().length
    return answer.promise
  }
  const dataMs = 500
  const { port } = await openPort(t, { receive }, { memoryBytesMax: 300_000, dataMs })
  const message = `${'x'.repeat(998)}\r\n`.repeat(300)
  const clients = [await TestClient.open(t, port), await TestClient.open(t, port), await TestClient.open(t, port)]
  const [first, ...others] = clients
  for (const client of clients) {
    await client.hello()
    client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\n')
    await client.replies(3)
    client.write(message)
    if (client !== first) continue
    client.write('.\r\n')
    await until(() => taken > 0)
  }
  const waitedSince = performance.now()
  await until(() => performance.now() - waitedSince > dataMs + 100)
  answer.resolve('250 2.0.0 Ok')
  assert.match(await first!.reply(), /^250/)
  // Several looks at the clock later they are still there.
  const freedSince = performance.now()
  await until(() => performance.now() - freedSince > 50)
  for (const client of others) assert.match(await client.say('.'), /^250/)
  assert.equal(taken, 3 * message.length)
})

test('closing tells idle clients at once and lets a message end', async t => {
  const answer = Promise.withResolvers<string>()
  const { port, listener } = await openPort(t, { receive: () => answer.promise }, { closeMs: 10_000 })
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
  const addressed = await TestClient.open(t, port)
  await addressed.hello()
  await addressed.say('MAIL FROM:<>')

  const closed = listener.close()
  assert.match(await idle.reply(), /^421 4\.3\.2/)
  await idle.closed()
  assert.equal(inData.isClosed, false)
  inData.write('A: b\r\n\r\n.\r\n')
  answer.resolve('250 2.0.0 Ok')
  assert.match(await reply, /^250/)
  assert.match(await busy.reply(), /^421 4\.3\.2/)
  assert.match(await inData.reply(), /^250/)
  assert.match(await addressed.say('RCPT TO:<a@x.example>'), /^250/)
  assert.match(await addressed.say('DATA'), /^354/)
  assert.match(await addressed.say('.'), /^250/)
  await closed
  await assert.rejects(TestClient.open(t, port))
})

test('closing does not wait for ever', async t => {
  const { port, listener } = await openPort(t, { receive: () => new Promise(() => {}) }, { closeMs: 30 })
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\n.\r\n')
  await client.replies(3)
  await listener.close()
  await client.closed()
})

test('a client that has said its last word still hears the replies', async t => {
  const { port, received } = await openPort(t)
  const client = await TestClient.open(t, port)
  await client.hello()
  client.write('MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nDATA\r\nA: b\r\n\r\n.\r\n')
  client.end()
  assert.match((await client.replies(4))[3]!, /^250 2\.0\.0/)
  assert.equal(received.length, 1)
  await client.closed()
})

const forAccounts = {
  authenticate: async ({ username }: { username: string }) => ({ login: username }),
  ownerOf: (login: string) => login.split('/')[0]!,
}

test('connections that never log in yield to clients that do', async t => {
  const { port, listener } = await openPort(t, forAccounts, { connectionsMax: 6, connectionsReserved: 3 })
  const customers = await Promise.all(['a/1', 'b/1'].map(username => aLogin(t, port, username)))
  const idle: TestClient[] = []
  for (let n = 0; n < 20; n++) {
    const client = await TestClient.open(t, port)
    await client.reply()
    idle.push(client)
  }

  const late = await aLogin(t, port, 'c/1')

  for (const client of [...customers, late]) assert.match(await client.say('NOOP'), /^250/)
  assert.match(await idle[0]!.reply(), /^421 4\.7\.0/)
  await until(() => listener.connections <= 6)
})

test('one account has a bounded number of connections, and another logs in beside it', async t => {
  const { port } = await openPort(t, forAccounts, { connectionsPerAccountMax: 2 })
  const first = await aLogin(t, port, 'a/1')
  await aLogin(t, port, 'a/2')
  const third = await TestClient.open(t, port)
  await third.hello()
  assert.match(await third.login({ username: 'a/3', password: 'x' }), /^421 4\.7\.0/)
  await third.closed()
  await aLogin(t, port, 'b/1')

  first.end()
  await first.closed()
  await aLogin(t, port, 'a/3')
})

test('one tenant has half of the connections of its account, and another logs in beside it', async t => {
  const forTenants = { ...forAccounts, tenantOf: (login: string) => login.split('/')[1]! }
  const { port } = await openPort(t, forTenants, { connectionsPerAccountMax: 4 })
  const first = await aLogin(t, port, 'a/greedy')
  await aLogin(t, port, 'a/greedy')
  const third = await TestClient.open(t, port)
  await third.hello()
  assert.match(await third.login({ username: 'a/greedy', password: 'x' }), /^421 4\.7\.0 .*tenant/)
  await aLogin(t, port, 'a/sibling')

  first.end()
  await first.closed()
  await aLogin(t, port, 'a/greedy')
})

test('a client that is sent away while its login is looked up stays away', async t => {
  const answer = Promise.withResolvers<{ login: string }>()
  const slow = { ...forAccounts, authenticate: () => answer.promise }
  const { port, listener } = await openPort(t, slow, { connectionsMax: 2, connectionsReserved: 1 })
  const first = await TestClient.open(t, port)
  await first.hello()
  const login = first.login({ username: 'a/1', password: 'x' })
  const second = await TestClient.open(t, port)
  await second.reply()
  assert.match(await login, /^421 4\.7\.0/)

  answer.resolve({ login: 'a/1' })
  await first.closed()
  await until(() => listener.connections === 1)
})

test('an account that logs in again after STARTTLS is counted once', async t => {
  const { port } = await openPort(t, forAccounts, { connectionsPerAccountMax: 1 })
  for (let n = 0; n < 3; n++) {
    const client = await aLogin(t, port, 'a/1')
    await client.say('STARTTLS')
    await client.secure()
    await client.say('EHLO client.example')
    assert.match(await client.login({ username: 'a/1', password: 'x' }), /^235/)
    client.end()
    await client.closed()
  }
})

async function aLogin(t: TestContext, port: number, username: string): Promise<TestClient> {
  const client = await TestClient.open(t, port)
  await client.hello()
  assert.match(await client.login({ username, password: 'x' }), /^235/)
  return client
}

test('a message of nothing but doubled dots costs about its own size', async t => {
  const { port, received } = await openPort(t, { sizeMax: 40_000_000 }, { memoryBytesMax: 64_000_000 })
  const client = await TestClient.open(t, port)
  await client.hello()
  const lines = 4_000_000
  const before = process.memoryUsage().rss
  const sent = Buffer.from('..\r\n'.repeat(lines)).toString('latin1')
  assert.match(await client.send(sent), /^250/)
  assert.equal(received[0]?.source.length, 3 * lines)
  const grown = (process.memoryUsage().rss - before) / 1e6
  assert.ok(grown < 150, `${grown.toFixed(0)} MB for 12 MB of message`)
})
