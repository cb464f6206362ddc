// One message, one or more recipients, one server: who gets which answer, and what went over the wire.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aServer } from './fake-smtp.fixture.ts'
import { until } from '../../../test/support/eventually.ts'
import { anEnvelope, aTransport, brief, routesTo, SOURCE } from './transport.fixture.ts'

test('a message is delivered with the reply of the server and the name of the host', async t => {
  const server = await aServer(t)
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())

  assert.deepEqual(outcome, {
    kind: 'delivered',
    reply: { code: 250, enhanced: '2.0.0', text: 'Ok: queued as ABC' },
    host: '127.0.0.1',
    tls: false,
  })
  assert.equal(server.messages[0]!.from, 'a@sender.test')
  assert.deepEqual(server.messages[0]!.to, ['b@receiver.test'])
  assert.deepEqual(server.messages[0]!.source, SOURCE)
  assert.equal(server.sessions[0]!.lines[0], 'EHLO sender.test')
})

test('with PIPELINING the envelope is one write and the content another', async t => {
  const server = await aServer(t)
  const recipients = ['b@receiver.test', 'c@receiver.test']
  await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))

  const [ehlo, envelope, content, ...rest] = server.sessions[0]!.chunks
  assert.equal(ehlo, 'EHLO sender.test\r\n')
  assert.equal(
    envelope,
    `MAIL FROM:<a@sender.test> SIZE=${SOURCE.length}\r\nRCPT TO:<b@receiver.test>\r\nRCPT TO:<c@receiver.test>\r\nDATA\r\n`,
  )
  assert.equal(content, `${SOURCE.toString()}.\r\n`)
  assert.deepEqual(rest, [])
})

test('without PIPELINING each command waits for the reply to the one before', async t => {
  const server = await aServer(t, { extensions: [] })
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'delivered')
  assert.deepEqual(server.sessions[0]!.chunks.slice(1, 4), [
    'MAIL FROM:<a@sender.test>\r\n',
    'RCPT TO:<b@receiver.test>\r\n',
    'DATA\r\n',
  ])
})

test('the null sender is sent as an empty path', async t => {
  const server = await aServer(t)
  await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ mailFrom: '' }))
  assert.match(server.sessions[0]!.lines[1]!, /^MAIL FROM:<>/)
})

test('lines that begin with a dot arrive as they were written, and a source without a last line break gets one', async t => {
  const server = await aServer(t)
  const source = Buffer.from('Subject: dots\r\n\r\n.\r\n..two\r\nend')
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ source }))

  assert.equal(brief(outcome), 'delivered')
  assert.equal(server.messages[0]!.source.toString(), `${source.toString()}\r\n`)
})

for (const extensions of [['PIPELINING'], []]) {
  const how = extensions.length > 0 ? 'pipelined' : 'step by step'

  test(`recipients are refused one by one while the others are delivered, ${how}`, async t => {
    const answers: Record<string, string> = {
      b: '550 5.1.1 Unknown',
      d: '451 4.7.1 Greylisted',
      e: '452 4.5.3 Too many',
    }
    const RCPT = (line: string): string => answers[/<(.)/.exec(line)![1]!] ?? '250 Ok'
    const server = await aServer(t, { extensions, answers: { RCPT } })
    const recipients = ['a', 'b', 'c', 'd', 'e'].map(local => `${local}@receiver.test`)
    const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))

    assert.deepEqual(outcomes.map(brief), [
      'delivered',
      'refused rcpt 550 5.1.1',
      'delivered',
      'refused rcpt 451 4.7.1',
      'refused rcpt 452 4.5.3',
    ])
    assert.deepEqual(server.messages[0]!.to, ['a@receiver.test', 'c@receiver.test'])
  })

  test(`when every recipient is refused no content is sent, and the connection is reset and used again, ${how}`, async t => {
    const RCPT = (line: string): string => (line.includes('<b@') ? '550 5.1.1 Unknown' : '250 Ok')
    const DATA = (_: string, { lines }: { lines: string[] }): string =>
      lines.at(-2)!.includes('<b@') ? '554 5.5.1 No valid recipients' : '354 Go'
    const server = await aServer(t, { extensions, answers: { RCPT, DATA } })
    const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 1 })
    const refused = await transport.send('receiver.test', anEnvelope())
    const delivered = await transport.send('receiver.test', anEnvelope({ recipients: ['c@receiver.test'] }))

    assert.deepEqual(refused.map(brief), ['refused rcpt 550 5.1.1'])
    assert.deepEqual(delivered.map(brief), ['delivered'])
    assert.equal(server.sessions.length, 1)
    assert.equal(server.messages.length, 1)
    assert.ok(server.sessions[0]!.lines.includes('RSET'))
  })

  test(`a refused sender refuses every recipient, ${how}`, async t => {
    const answers = { MAIL: '553 5.1.8 Bad sender', RCPT: '503 5.5.1 Bad sequence', DATA: '503 5.5.1 Bad sequence' }
    const server = await aServer(t, { extensions, answers })
    const recipients = ['b@receiver.test', 'c@receiver.test']
    const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))
    assert.deepEqual(outcomes.map(brief), ['refused mail 553 5.1.8', 'refused mail 553 5.1.8'])
  })

  test(`refused DATA refuses the recipients that were accepted, and only those, ${how}`, async t => {
    const RCPT = (line: string): string => (line.includes('<b@') ? '550 5.1.1 Unknown' : '250 Ok')
    const server = await aServer(t, { extensions, answers: { RCPT, DATA: '451 4.3.0 Not now' } })
    const recipients = ['b@receiver.test', 'c@receiver.test']
    const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))
    assert.deepEqual(outcomes.map(brief), ['refused rcpt 550 5.1.1', 'refused data 451 4.3.0'])
  })

  test(`the reply to the content is the answer for all who were accepted, ${how}`, async t => {
    const server = await aServer(t, { extensions, answers: { content: '552 5.2.3 Too large\n' } })
    const recipients = ['b@receiver.test', 'c@receiver.test']
    const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))
    assert.deepEqual(outcomes.map(brief), ['refused content 552 5.2.3', 'refused content 552 5.2.3'])
  })

  test(`a 421 in the middle answers recipients that had no answer yet, ${how}`, async t => {
    const RCPT = (line: string, session: { socket: { end: (text: string) => void } }): string | null => {
      if (line.includes('<b@')) return '550 5.1.1 Unknown'
      session.socket.end('421 4.7.0 Closing\r\n')
      return null
    }
    const server = await aServer(t, { extensions, answers: { RCPT } })
    const recipients = ['b@receiver.test', 'c@receiver.test', 'd@receiver.test']
    const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))

    assert.equal(brief(outcomes[0]), 'refused rcpt 550 5.1.1')
    for (const outcome of outcomes.slice(1)) assert.match(brief(outcome), /^refused (rcpt|data) 421 4.7.0$/)
  })
}

test('a 421 to one recipient on a connection that stays open lets the accepted ones go on', async t => {
  const RCPT = (line: string): string => (line.includes('<c@') ? '421 4.5.3 Too many recipients' : '250 Ok')
  const server = await aServer(t, { answers: { RCPT } })
  const recipients = ['b@receiver.test', 'c@receiver.test']
  const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))
  assert.deepEqual(outcomes.map(brief), ['delivered', 'refused rcpt 421 4.5.3'])
})

test('DATA taken although every recipient was refused is ended with a lone dot (RFC 2920)', async t => {
  const content = '554 5.5.1 No valid recipients'
  const server = await aServer(t, { answers: { RCPT: '550 5.1.1 Unknown', content } })
  const transport = aTransport(t, routesTo(server))
  assert.deepEqual((await transport.send('receiver.test', anEnvelope())).map(brief), ['refused rcpt 550 5.1.1'])
  assert.deepEqual((await transport.send('receiver.test', anEnvelope())).map(brief), ['refused rcpt 550 5.1.1'])

  assert.equal(server.sessions.length, 1)
  assert.deepEqual(server.sessions[0]!.chunks[2], '.\r\n')
  assert.equal(server.messages.length, 0)
})

test('a server that knows only HELO gets HELO, and no parameters', async t => {
  const server = await aServer(t, { answers: { EHLO: '502 5.5.1 Not implemented' } })
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'delivered')
  assert.deepEqual(server.sessions[0]!.lines.slice(0, 3), [
    'EHLO sender.test',
    'HELO sender.test',
    'MAIL FROM:<a@sender.test>',
  ])
})

test('a message larger than the server allows is refused with 552 5.3.4 without being offered', async t => {
  const server = await aServer(t, { extensions: ['PIPELINING', `SIZE ${SOURCE.length - 1}`] })
  const transport = aTransport(t, routesTo(server))
  const [outcome] = await transport.send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'refused mail 552 5.3.4')
  assert.deepEqual(server.sessions[0]!.lines, ['EHLO sender.test'])
})

test('SIZE 0 and SIZE without a number mean no limit', async t => {
  for (const size of ['SIZE 0', 'SIZE']) {
    const server = await aServer(t, { extensions: [size] })
    const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), 'delivered', size)
  }
})

test('8-bit content is declared, and refused with 554 5.6.3 where the server does not take it', async t => {
  const source = Buffer.from('Subject: x\r\n\r\ncafé\r\n')
  const able = await aServer(t)
  const unable = await aServer(t, { extensions: ['PIPELINING'] })
  const [delivered] = await aTransport(t, routesTo(able)).send('receiver.test', anEnvelope({ source }))
  const [refused] = await aTransport(t, routesTo(unable)).send('receiver.test', anEnvelope({ source }))

  assert.equal(brief(delivered), 'delivered')
  assert.match(able.sessions[0]!.lines[1]!, / BODY=8BITMIME$/)
  assert.deepEqual(able.messages[0]!.source, source)
  assert.equal(brief(refused), 'refused mail 554 5.6.3')
})

test('SMTPUTF8 is declared, and refused with 553 5.6.7 where the server does not offer it', async t => {
  const envelope = anEnvelope({ recipients: ['jörg@receiver.test'], smtputf8: true })
  const able = await aServer(t)
  const unable = await aServer(t, { extensions: ['PIPELINING', '8BITMIME'] })
  const [delivered] = await aTransport(t, routesTo(able)).send('receiver.test', envelope)
  const [refused] = await aTransport(t, routesTo(unable)).send('receiver.test', envelope)
  const [undeclared] = await aTransport(t, routesTo(unable)).send('receiver.test', { ...envelope, smtputf8: false })

  assert.equal(brief(delivered), 'delivered')
  assert.match(able.sessions[0]!.lines[1]!, / SMTPUTF8$/)
  assert.equal(Buffer.from(able.messages[0]!.to[0]!, 'latin1').toString(), 'jörg@receiver.test')
  assert.equal(brief(refused), 'refused mail 553 5.6.7')
  assert.equal(brief(undeclared), 'refused mail 553 5.6.7')
})

test('a bare line break or a NUL never leaves, wherever it stands', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, routesTo(server))
  for (const bad of ['a\nb', 'a\rb', '\r\n.\n', '\n.\r\nMAIL FROM:<x@y.test>', 'a\0b']) {
    const source = Buffer.from(`Subject: x\r\n\r\n${bad}\r\n`)
    const [outcome] = await transport.send('receiver.test', anEnvelope({ source }))
    assert.equal(brief(outcome), 'refused mail 554 5.6.0', JSON.stringify(bad))
  }
  assert.deepEqual(server.sessions[0]!.lines, ['EHLO sender.test'])
})

test('an address that would end its line is refused', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, routesTo(server))
  for (const address of ['b@receiver.test>\r\nRCPT TO:<x@y.test', 'b\n@receiver.test', 'b\0@receiver.test']) {
    for (const fields of [{ recipients: [address] }, { mailFrom: address }]) {
      const [outcome] = await transport.send('receiver.test', anEnvelope(fields))
      assert.equal(brief(outcome), 'refused mail 553 5.1.3', JSON.stringify(fields))
    }
  }
  assert.deepEqual(server.sessions[0]!.lines, ['EHLO sender.test'])
})

test('more than a hundred recipients go in several transactions, answered in their order', async t => {
  const RCPT = (line: string): string => (line.includes('<r150@') ? '550 5.1.1 Unknown' : '250 Ok')
  const server = await aServer(t, { answers: { RCPT } })
  const recipients = Array.from({ length: 250 }, (_, index) => `r${index}@receiver.test`)
  const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))

  assert.equal(outcomes.length, 250)
  assert.deepEqual(
    outcomes.flatMap((outcome, index) => (brief(outcome) === 'delivered' ? [] : [index])),
    [150],
  )
  assert.deepEqual(
    server.messages.map(({ to }) => to.length),
    [100, 99, 50],
  )
})

test('a message of several megabytes arrives whole', async t => {
  const server = await aServer(t, { extensions: ['PIPELINING'] })
  const source = Buffer.from(`Subject: large\r\n\r\n${'.0123456789abcdef'.repeat(4)}\r\n`.repeat(50_000))
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ source }))

  assert.equal(brief(outcome), 'delivered')
  assert.ok(server.messages[0]!.source.equals(source))
})

test('a refusal in the middle of a large message is the answer, even if the rest is never read', async t => {
  const server = await aServer(t, {
    extensions: ['PIPELINING'],
    answers: {
      DATA: (_, { socket }) => {
        let seen = 0
        socket.on('data', chunk => {
          seen += chunk.length
          if (seen < 300_000 || socket.isPaused()) return
          socket.pause()
          // By then the sender has filled every buffer between the two and waits.
          setTimeout(() => socket.write('552 5.3.4 Enough\r\n'), 200)
        })
        return '354 Go'
      },
    },
  })
  const transport = aTransport(t, routesTo(server))
  const source = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(300_000))
  const [outcome] = await transport.send('receiver.test', anEnvelope({ source }))

  assert.equal(brief(outcome), 'refused content 552 5.3.4')
  await until(() => transport.connectionsByHost().size === 0)
})
