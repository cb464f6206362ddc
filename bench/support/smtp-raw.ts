// The least SMTP that a hostile or a lone client needs: lines out, replies back, and a sink that notes return paths.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface RawSmtp {
  socket: Socket
  /** Sends a line and answers the last line of the reply. */
  say(line: string): Promise<string>
  /** Sends bytes as they are, waiting while the server does not read. */
  write(bytes: Buffer): Promise<void>
  reply(): Promise<string>
}

export async function rawSmtp(port: number): Promise<RawSmtp> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let isClosed = false
  const waiting: (() => void)[] = []
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    for (const wake of waiting.splice(0)) wake()
  })
  socket.on('data', chunk => {
    text += String(chunk)
    for (const wake of waiting.splice(0)) wake()
  })
  const reply = async (): Promise<string> => {
    for (;;) {
      const last = /^(?:\d{3}-.*\r\n)*(\d{3} .*)\r\n/.exec(text)
      if (last) {
        text = text.slice(last[0].length)
        return last[1]!
      }
      if (isClosed) throw new Error('the connection was closed')
      await new Promise<void>(resolve => waiting.push(resolve))
    }
  }
  await once(socket, 'connect')
  return {
    socket,
    reply,
    say: line => {
      socket.write(`${line}\r\n`)
      return reply()
    },
    write: bytes =>
      new Promise(resolve => {
        if (isClosed) return resolve()
        // Called when the bytes have left, or never will.
        socket.write(bytes, () => resolve())
      }),
  }
}

export interface NotingSink {
  port: number
  /** Return paths of what came, the newest last. */
  returnPaths: string[]
  close(): void
}

/** Takes everything and remembers who it came from. */
export async function startNotingSink(): Promise<NotingSink> {
  const returnPaths: string[] = []
  const server = createServer(socket => {
    let text = ''
    let isData = false
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.write('220 sink ESMTP\r\n')
    socket.on('data', chunk => {
      text += String(chunk)
      for (;;) {
        const end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end === -1) {
          // Of a body only what could begin its end is kept: searching all of it with each chunk blocked this thread for
          // seconds, and the victim is measured on it.
          if (isData) text = text.slice(-4)
          return
        }
        const line = text.slice(0, end)
        text = text.slice(end + (isData ? 5 : 2))
        if (isData) {
          isData = false
          socket.write('250 2.0.0 Ok\r\n')
          continue
        }
        const from = /^MAIL FROM:<([^>]+)>/i.exec(line)?.[1]
        if (from && returnPaths.length < 1_000) returnPaths.push(from)
        isData = /^DATA/i.test(line)
        const isGreeting = /^EHLO/i.test(line)
        socket.write(isGreeting ? '250-sink\r\n250 PIPELINING\r\n' : isData ? '354 Go\r\n' : '250 2.0.0 Ok\r\n')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, returnPaths, close: () => server.close() }
}
