// A receiving mail server for tests: takes what it is sent, remembers it with the time, and answers as it is told.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

export interface ReceivedMail {
  mailFrom: string
  recipients: string[]
  source: string
  /** When MAIL came, on the clock of `performance.now`. */
  beganAt: number
}

export interface TestSink {
  port: number
  received: ReceivedMail[]
  /** How many connections were made. */
  connections: number
  /** Answers to a command in place of 250; null for the usual one. `recipients` are those that were taken. */
  answer: (verb: string, argument: string, recipients: readonly string[]) => string | null
  /** How long it takes for its answer to a message. */
  slowMs: number
  /** Ends every connection without a word. */
  hangUp(): void
  close(): Promise<void>
}

export async function aSink(): Promise<TestSink> {
  const sockets = new Set<Socket>()
  const sink: TestSink = {
    port: 0,
    received: [],
    connections: 0,
    answer: () => null,
    slowMs: 0,
    hangUp: () => {},
    close: async () => {},
  }
  const server = createServer(socket => {
    sockets.add(socket)
    sink.connections += 1
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    serve(socket, sink)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  sink.port = (server.address() as AddressInfo).port
  sink.hangUp = () => {
    for (const socket of sockets) socket.destroy()
  }
  sink.close = async () => {
    sink.hangUp()
    server.close()
    await once(server, 'close')
  }
  return sink
}

function serve(socket: Socket, sink: TestSink): void {
  /** What was looked through for the end of a message, and is none of it. */
  let searched: string[] = []
  let buffer = ''
  let mail: ReceivedMail | null = null
  let isData = false
  const say = (line: string): void => void socket.write(`${line}\r\n`)
  socket.setEncoding('latin1')
  say('220 sink.test ESMTP')
  socket.on('data', chunk => {
    buffer += String(chunk)
    for (;;) {
      const end = isData ? buffer.indexOf('\r\n.\r\n') : buffer.indexOf('\r\n')
      if (end < 0) {
        if (isData) setAside()
        return
      }
      const text = searched.join('') + buffer.slice(0, end)
      searched = []
      buffer = buffer.slice(end + (isData ? 5 : 2))
      if (isData) takeContent(text)
      else takeCommand(text)
    }
  })

  /** All but what may be the beginning of the end: a large message is looked through once. */
  function setAside(): void {
    searched.push(buffer.slice(0, -4))
    buffer = buffer.slice(-4)
  }

  function takeContent(text: string): void {
    isData = false
    const answer = sink.answer('CONTENT', text, mail!.recipients)
    if (!answer) sink.received.push({ ...mail!, source: `${text}\r\n`.replace(/^\.\./gm, '.') })
    const reply = answer ?? '250 2.0.0 Ok: queued'
    if (sink.slowMs > 0) setTimeout(() => say(reply), sink.slowMs)
    else say(reply)
    mail = null
  }

  function takeCommand(line: string): void {
    const verb = line.split(/[ :]/)[0]!.toUpperCase()
    const answer = sink.answer(verb, line, mail?.recipients ?? [])
    if (answer === 'HANG') return
    if (answer === 'CLOSE') return void socket.destroy()
    if (verb === 'EHLO') return say(answer ?? '250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8')
    if (verb === 'QUIT') return void socket.end('221 2.0.0 Bye\r\n')
    const path = /<([^>]*)>/.exec(line)?.[1] ?? ''
    if (verb === 'MAIL' && !answer) mail = { mailFrom: path, recipients: [], source: '', beganAt: performance.now() }
    if (verb === 'RCPT' && !answer) mail?.recipients.push(path)
    if (verb === 'DATA') {
      if (answer) return say(answer)
      if (!mail || mail.recipients.length === 0) return say('554 5.5.1 No valid recipients')
      isData = true
      return say('354 Go ahead')
    }
    if (verb === 'RSET') mail = null
    say(answer ?? '250 2.0.0 Ok')
  }
}
