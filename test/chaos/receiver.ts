// A webhook receiver that fails the first try of some events, and remembers which ones it has taken.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receiver {
  url: string
  /** Ids of events that were answered with 200. */
  taken: Set<number>
  /** How often an event came again after it had been taken. */
  repeats: number
  close(): Promise<void>
}

export async function aReceiver(random: (below: number) => number): Promise<Receiver> {
  const refused = new Set<number>()
  const receiver: Receiver = { url: '', taken: new Set(), repeats: 0, close: async () => {} }
  const server = createServer((request, response) => {
    const id = Number(request.headers['x-service-event-id'])
    request.resume()
    request.on('end', () => {
      if (random(10) === 0 && !refused.has(id)) {
        refused.add(id)
        return response.writeHead(500).end()
      }
      if (receiver.taken.has(id)) receiver.repeats += 1
      receiver.taken.add(id)
      response.writeHead(200).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  receiver.close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return receiver
}
