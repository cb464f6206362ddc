// A pooler in transaction mode, of the strictest kind: two sessions of a real PostgreSQL behind it, and whenever a transaction
// of a client has ended, the client's next one meets the other session. It passes statements on unread, as PgBouncer does
// without max_prepared_statements, and refuses what PgBouncer refuses when a client connects.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import pg from 'pg'

export interface TransactionPooler {
  url: string
  close(): Promise<void>
}

/** Before a database whose URL names the folder of its socket. */
export async function aTransactionPooler(databaseUrl: string): Promise<TransactionPooler> {
  const clients = new Set<Socket>()
  const upstreams: pg.Client[] = []
  const server = createServer(client => {
    clients.add(client)
    client.on('error', () => {})
    client.once('data', async greeting => {
      const refusal = refusalOf(String(greeting))
      if (refusal) return client.end(refusal)
      client.pause()
      const pair = await Promise.all([aSession(databaseUrl), aSession(databaseUrl)])
      upstreams.push(...pair)
      client.write(welcome())
      poolTransactions(client, pair.map(streamOf))
      client.resume()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const name = /\/(\w+)\?/.exec(databaseUrl)![1]!
  return {
    url: `postgres://pooled:none@127.0.0.1:${(server.address() as AddressInfo).port}/${name}?sslmode=disable`,
    close: async () => {
      server.close()
      for (const client of clients) client.destroy()
      for (const upstream of upstreams) streamOf(upstream).destroy()
    },
  }
}

async function aSession(url: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url, application_name: 'pooled' })
  session.on('error', () => {})
  await session.connect()
  // From here on it carries bytes of others.
  streamOf(session).removeAllListeners('data')
  return session
}

const streamOf = (session: pg.Client): Socket =>
  (session as unknown as { connection: { stream: Socket } }).connection.stream

function poolTransactions(client: Socket, sessions: readonly Socket[]): void {
  let current = 0
  /** Answers that end a statement, asked for and not yet given. */
  let expected = 0
  const fromClient = frames((type, frame) => {
    if (type === 'Q' || type === 'S') expected += 1
    sessions[current]!.write(frame)
  })
  client.on('data', fromClient)
  client.on('close', () => sessions.forEach(session => session.destroy()))
  for (const session of sessions) {
    session.on('close', () => client.destroy())
    session.on(
      'data',
      frames((type, frame) => {
        if (type === 'Z' && --expected === 0 && frame[5] === IDLE) current = (current + 1) % sessions.length
        client.write(frame)
      }),
    )
  }
}

const IDLE = 'I'.charCodeAt(0)

/** Cuts the bytes of a connection into messages: a letter, a length, the rest. */
function frames(take: (type: string, frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return chunk => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5 && rest.length >= 1 + rest.readUInt32BE(1)) {
      const frame = rest.subarray(0, 1 + rest.readUInt32BE(1))
      rest = rest.subarray(frame.length)
      take(String.fromCharCode(frame[0]!), frame)
    }
  }
}

const message = (type: string, content: Buffer): Buffer => {
  const head = Buffer.from(`${type}\0\0\0\0`)
  head.writeUInt32BE(4 + content.length, 1)
  return Buffer.concat([head, content])
}

/** No password is asked for; the cancel key is the pooler's own. */
const welcome = (): Buffer =>
  Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('S', Buffer.from('server_version\x0015.0\0')),
    message('K', Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1])),
    message('Z', Buffer.from('I')),
  ])

function refusalOf(greeting: string): Buffer | null {
  const parameter = ['statement_timeout', 'idle_in_transaction_session_timeout', 'options'].find(name =>
    greeting.includes(`\0${name}\0`),
  )
  if (!parameter) return null
  return message('E', Buffer.from(`SFATAL\0C08P01\0Munsupported startup parameter: ${parameter}\0\0`))
}
