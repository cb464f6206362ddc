// The connections of a server that closes. It ends with the last of them, and Node.js leaves open what is neither idle nor
// waiting for an answer: half a request head, or a body that still comes after its answer.
import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'
import { DRAIN_MS_MAX } from '../feature.ts'

/** For an answer to reach its reader, and the rest of a head to come. */
const LEAVE_MS = 1_000

export function endConnectionsOnClose(app: FastifyInstance): void {
  const calls = countCalls(app)
  let isClosing = false
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done()
  })
  app.addHook('preClose', done => {
    isClosing = true
    const began = performance.now()
    setInterval(() => {
      const isOver = performance.now() - began > DRAIN_MS_MAX
      for (const [socket, count] of calls) if (count === 0 || isOver) socket.destroy()
    }, LEAVE_MS).unref()
    done()
  })
}

/** How many calls over each connection have no answer yet. An upgraded connection is left to its stream, which ends it. */
function countCalls({ server }: FastifyInstance): ReadonlyMap<Socket, number> {
  const calls = new Map<Socket, number>()
  const add = (socket: Socket, step: number): void => {
    const count = calls.get(socket)
    if (count !== undefined) calls.set(socket, count + step)
  }
  server.on('connection', socket => {
    calls.set(socket, 0)
    socket.once('close', () => calls.delete(socket))
  })
  server.on('upgrade', ({ socket }) => calls.delete(socket))
  server.on('request', ({ socket }, answer) => {
    add(socket, 1)
    answer.once('close', () => add(socket, -1))
  })
  return calls
}
