// A receiver of webhooks for tests: remembers what it is sent, and answers as it is told.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read events freely
  event: any
  /** On the clock of `performance.now`. */
  at: number
}

export interface Receiver {
  url: string
  port: number
  received: Received[]
  connections: number
  /** How many requests were open at once, at the most. */
  openMax: number
  /** Answers one request; 200 with an empty body where nothing else is said. */
  answer: (request: Received, response: ServerResponse) => void
  of(path: string): Received[]
  close(): Promise<void>
}

export async function aReceiver(): Promise<Receiver> {
  const sockets = new Set<Socket>()
  let open = 0
  const server = createServer((request, response) => {
    open += 1
    receiver.openMax = Math.max(receiver.openMax, open)
    response.on('close', () => (open -= 1))
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const { url: path = '', headers } = request
      const one = { path, headers, body, event: JSON.parse(body), at: performance.now() }
      receiver.received.push(one)
      receiver.answer(one, response)
    })
  })
  server.on('connection', socket => {
    receiver.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    received: [],
    connections: 0,
    openMax: 0,
    answer: (_request, response) => void response.end(),
    of: path => receiver.received.filter(each => each.path === path),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

/** As a receiver would check it: one of the v1 values fits, and the time is not older than five minutes. */
export function isSigned({ headers, body }: Received, secret: string, now: Date): boolean {
  const parts = String(headers['x-service-signature']).split(',')
  const t = parts.find(part => part.startsWith('t='))!.slice(2)
  const wanted = createHmac('sha256', secret).update(`${t}.${body}`).digest()
  const given = parts.filter(part => part.startsWith('v1=')).map(part => Buffer.from(part.slice(3), 'hex'))
  const isFresh = Math.abs(now.getTime() / 1000 - Number(t)) <= 300
  return isFresh && given.some(digest => digest.length === wanted.length && timingSafeEqual(digest, wanted))
}
