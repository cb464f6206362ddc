// A database whose connections can be cut: a proxy on loopback before a real PostgreSQL. While it is cut nobody gets in, and
// every connection that was open is closed, as in an outage of the network or a restart of the server.
import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

export interface DatabaseProxy {
  /** As the given one, through the proxy. */
  url: string
  cut(): void
  restore(): void
  /** Connections that came while it was cut. */
  refused: number
  /** Told what has come in from clients so far, in bytes. */
  onBytes: (total: number) => void
}

/** Before a database whose URL names the folder of its socket. */
export async function aDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const [, credentials, name, query] = /^postgres:\/\/([^@]+)@\/(\w+)\?(.+)$/.exec(databaseUrl)!
  const parameters = new URLSearchParams(query)
  const path = `${parameters.get('host')}/.s.PGSQL.${parameters.get('port')}`
  const sockets = new Set<Socket>()
  let isCut = false
  let bytes = 0
  // It listens also while it is cut: another process could take the port meanwhile.
  const server = createServer(client => {
    if (isCut) {
      proxy.refused += 1
      return void client.on('error', () => {}).destroy()
    }
    client.on('data', chunk => proxy.onBytes((bytes += chunk.length)))
    forward(client, createConnection(path), sockets)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const { port } = server.address() as AddressInfo
  const proxy: DatabaseProxy = {
    url: `postgres://${credentials}@127.0.0.1:${port}/${name}?sslmode=disable`,
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    restore: () => {
      isCut = false
    },
    refused: 0,
    onBytes: () => {},
  }
  return proxy
}

function forward(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(from)
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.pipe(to)
  }
}
