// Whether the owner of a name has signed what DNS says of it. A resolver that validates tells it by a bit of its reply (AD, RFC
// 4035 §3.2.3), which node:dns hides: the question is asked once more, and of the reply only the head is read.
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIP, isIPv6 } from 'node:net'

/** Addresses, mail hosts, certificates. */
export type SignedType = keyof typeof TYPES
const TYPES = { A: 1, MX: 15, TLSA: 52 }

interface Question {
  name: string
  type: SignedType
  /** As `Resolver.getServers` answers them, asked in their order. */
  servers: readonly string[]
  /** For all servers and tries together. */
  timeoutMs: number
}

const ROUNDS = 2
const TRY_MS_MAX = 3_000

/** Absence may be signed as well. Null where nobody has answered in time. */
export async function isSigned({ name, type, servers, timeoutMs }: Question): Promise<boolean | null> {
  const query = queryOf(name, TYPES[type])
  if (!query) return false
  const tries = Array.from({ length: ROUNDS }, () => servers).flat()
  const tryMs = Math.min(TRY_MS_MAX, timeoutMs / tries.length)
  for (const server of tries) {
    const until = performance.now() + tryMs
    let flags = await askOverUdp(endpointOf(server), query, tryMs)
    if (flags && flags & TRUNCATED) flags = await askOverTcp(endpointOf(server), query, until - performance.now())
    if (flags !== null && ANSWERS.has(flags & RCODE)) return (flags & AUTHENTIC) !== 0
  }
  return null
}

const REPLY = 0x8000
const TRUNCATED = 0x0200
const RECURSION_DESIRED = 0x0100
/** In a question: the wish to be told. */
const AUTHENTIC = 0x0020
const RCODE = 0x000f
/** There is an answer, or there is no such name. After any other the next server may know more. */
const ANSWERS = new Set([0, 3])
const HEAD_BYTES = 12
/** Fits a datagram on every path (RFC 9715 §3.1). */
const UDP_BYTES = 1_232

/** Null for a name that cannot be asked for. */
function queryOf(name: string, type: number): Buffer | null {
  const labels = name.split('.').map(label => Buffer.from(label))
  if (name.length > 253 || labels.some(({ length }) => length === 0 || length > 63)) return null
  const head = words(randomInt(0x10000), RECURSION_DESIRED | AUTHENTIC, 1, 0, 0, 1)
  const question = labels.flatMap(label => [Buffer.of(label.length), label])
  // The last record is EDNS: how large the reply may be (RFC 6891 §6.1.2).
  const edns = Buffer.concat([Buffer.of(0), words(41, UDP_BYTES, 0, 0, 0)])
  return Buffer.concat([head, ...question, Buffer.of(0), words(type, 1), edns])
}

const words = (...values: number[]): Buffer => Buffer.concat(values.map(value => Buffer.of(value >> 8, value & 0xff)))

interface Endpoint {
  host: string
  port: number
}

function endpointOf(server: string): Endpoint {
  if (isIP(server) !== 0) return { host: server, port: 53 }
  const colon = server.lastIndexOf(':')
  return { host: server.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(server.slice(colon + 1)) }
}

/** The flags of what answers the query; null for anything else. */
const flagsOf = (reply: Buffer, query: Buffer): number | null =>
  reply.length >= HEAD_BYTES && reply.readUInt16BE(0) === query.readUInt16BE(0) && reply.readUInt16BE(2) & REPLY
    ? reply.readUInt16BE(2)
    : null

/** The socket is connected, so that it hears nobody but the server. */
function askOverUdp({ host, port }: Endpoint, query: Buffer, milliseconds: number): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  const timer = setTimeout(() => resolve(null), milliseconds)
  socket.on('error', () => resolve(null))
  socket.on('message', reply => {
    const flags = flagsOf(reply, query)
    if (flags !== null) resolve(flags)
  })
  socket.on('connect', () => socket.send(query))
  socket.connect(port, host)
  return promise.finally(() => {
    clearTimeout(timer)
    socket.close()
  })
}

function askOverTcp({ host, port }: Endpoint, query: Buffer, milliseconds: number): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const socket = connect(port, host)
  const timer = setTimeout(() => resolve(null), milliseconds)
  let received = Buffer.alloc(0)
  socket.on('error', () => resolve(null))
  socket.on('close', () => resolve(null))
  socket.on('data', chunk => {
    received = Buffer.concat([received, chunk])
    if (received.length >= 2 + HEAD_BYTES) resolve(flagsOf(received.subarray(2), query))
  })
  socket.write(Buffer.concat([words(query.length), query]))
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}
