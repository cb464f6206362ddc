// A receiving server that follows a script: polite by default, and as odd as a test wants it to be.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { TLSSocket } from 'node:tls'

/**
 * What the server says to a line: a reply (lines joined by LF), nothing ever again (null), or what the function does.
 */
export type Answer = string | null | ((line: string, session: Session) => string | null | void)

export interface Script {
  address?: string
  port?: number
  /** Keyed by verb; also `connect`, and `content` for the dot. */
  answers?: Record<string, Answer>
  extensions?: string[]
  tls?: { key: string; cert: string }
  /** Bytes that follow the reply to a verb in the same packet. */
  trailers?: Record<string, string>
}

export interface Session {
  id: number
  socket: Socket
  isTls: boolean
  /** Every line that was understood as a command. */
  lines: string[]
  /** What each arriving piece of bytes held, before it was cut into lines. */
  chunks: string[]
  /** Lines and dots that came so far, by verb. */
  counts: Record<string, number>
  /** Says nothing more by itself. */
  isMute: boolean
}

export interface Received {
  session: Session
  from: string
  to: string[]
  source: Buffer
}

export interface FakeServer {
  port: number
  address: string
  sessions: Session[]
  messages: Received[]
  /** Sessions whose socket is still open. */
  open: Set<Session>
}

const DEFAULT_EXTENSIONS = ['PIPELINING', 'SIZE 1000000', '8BITMIME', 'SMTPUTF8']
const DEFAULT_ANSWERS: Record<string, string> = {
  connect: '220 fake.test ESMTP',
  HELO: '250 fake.test',
  MAIL: '250 2.1.0 Ok',
  RCPT: '250 2.1.5 Ok',
  DATA: '354 End with a dot',
  content: '250 2.0.0 Ok: queued as ABC',
  RSET: '250 2.0.0 Ok',
  QUIT: '221 2.0.0 Bye',
  STARTTLS: '220 2.0.0 Go ahead',
  AUTH: '235 2.7.0 Welcome',
}

export async function aServer(t: TestContext, script: Script = {}): Promise<FakeServer> {
  const { address = '127.0.0.1', port = 0 } = script
  const fake: FakeServer = { port, address, sessions: [], messages: [], open: new Set() }
  const server = createServer(socket => converse(fake, script, socket))
  server.listen(port, address)
  await once(server, 'listening')
  fake.port = (server.address() as AddressInfo).port
  t.after(() => {
    server.close()
    for (const { socket } of fake.open) socket.destroy()
  })
  return fake
}

function converse(fake: FakeServer, script: Script, socket: Socket): void {
  const session: Session = {
    id: fake.sessions.length,
    socket,
    isTls: false,
    lines: [],
    chunks: [],
    counts: {},
    isMute: false,
  }
  fake.sessions.push(session)
  fake.open.add(session)
  socket.setNoDelay(true)
  socket.on('close', () => fake.open.delete(session))
  const state = { rest: '', isData: false, from: '', to: [] as string[] }
  const say = (verb: string, line: string): string | null => {
    session.counts[verb] = (session.counts[verb] ?? 0) + 1
    const own = script.answers?.[verb]
    const answer = own === undefined ? (DEFAULT_ANSWERS[verb] ?? '500 5.5.1 What?') : own
    const text = typeof answer === 'function' ? (answer(line, session) ?? null) : answer
    if (own === null) session.isMute = true
    if (text !== null && !session.isMute)
      session.socket.write(`${text.replaceAll('\n', '\r\n')}\r\n${script.trailers?.[verb] ?? ''}`)
    return text
  }
  const listen = (from: Socket): void => {
    from.on('error', () => {})
    from.on('data', chunk => {
      session.chunks.push(chunk.toString('latin1'))
      state.rest += chunk.toString('latin1')
      takeLines()
    })
  }
  const takeContent = (): boolean => {
    const end = state.rest.startsWith('.\r\n') ? 0 : state.rest.indexOf('\r\n.\r\n') + 2
    if (end === 1) return false
    const source = state.rest.slice(0, end).replaceAll(/^\.\./gm, '.')
    state.rest = state.rest.slice(end + 3)
    state.isData = false
    fake.messages.push({ session, from: state.from, to: state.to, source: Buffer.from(source, 'latin1') })
    if (!say('content', '.')?.startsWith('2')) fake.messages.pop()
    return true
  }
  const takeCommand = (): boolean => {
    const end = state.rest.indexOf('\r\n')
    if (end === -1) return false
    const line = state.rest.slice(0, end)
    state.rest = state.rest.slice(end + 2)
    session.lines.push(line)
    const verb = line.slice(0, 4).toUpperCase() === 'STAR' ? 'STARTTLS' : line.slice(0, 4).toUpperCase()
    obey(verb, line)
    return true
  }
  const obey = (verb: string, line: string): void => {
    if (verb === 'EHLO' && script.answers?.['EHLO'] === undefined) {
      const offered = [
        ...(script.extensions ?? DEFAULT_EXTENSIONS),
        ...(script.tls && !session.isTls ? ['STARTTLS'] : []),
      ]
      const lines = ['fake.test', ...offered]
      session.socket.write(
        lines.map((each, index) => `250${index === lines.length - 1 ? ' ' : '-'}${each}\r\n`).join(''),
      )
      return
    }
    const isYes = /^[23]/.test(say(verb, line) ?? '')
    const path = /<(.*)>/.exec(line)?.[1] ?? ''
    if (verb === 'MAIL' && isYes) Object.assign(state, { from: path, to: [] })
    if (verb === 'RCPT' && isYes) state.to = [...state.to, path]
    if (verb === 'DATA' && isYes) state.isData = true
    if (verb === 'QUIT') session.socket.end()
    if (verb === 'STARTTLS' && isYes && script.tls) encrypt(script.tls)
  }
  const encrypt = (tls: { key: string; cert: string }): void => {
    socket.removeAllListeners('data')
    const secure = new TLSSocket(socket, { isServer: true, ...tls })
    session.socket = secure
    session.isTls = true
    listen(secure)
  }
  const takeLines = (): void => {
    while (state.isData ? takeContent() : takeCommand()) if (session.socket.destroyed) return
  }
  listen(socket)
  say('connect', '')
}
