// Requests to URLs that a customer chose. The name is resolved by us at every connection, only addresses that may be
// reached are connected to, and the peer is looked at once more before a byte is sent: a name that changes its mind
// between check and use gains nothing. Redirects are not followed.
import { lookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { callbackify, promisify } from 'node:util'
import { Agent, buildConnector, request } from 'undici'
import { mayConnect } from './address-guard.ts'
import type { CidrList } from './cidr.ts'

export interface SafePost {
  url: string
  body: string
  headers: Record<string, string>
  /** For everything: resolving, connecting, sending, reading. */
  timeoutMs: number
  /** No more of the answer is read; nobody looks at it. */
  responseBytesMax: number
  /** Addresses that are not public and yet may be reached. */
  allow: CidrList
}

/** Somebody waits for the answer. */
const RESOLVE_MS_MAX = 3_000

export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress'
}

/** Rejects when there is no answer to be had, or none may be asked for. */
export async function safePost(post: SafePost): Promise<{ status: number; latencyMs: number }> {
  const began = performance.now()
  const agent = new Agent({ connect: guardedConnector(post), pipelining: 0, maxHeaderSize: 16_384 })
  try {
    const { statusCode, body } = await request(post.url, {
      method: 'POST',
      body: post.body,
      headers: post.headers,
      dispatcher: agent,
      signal: AbortSignal.timeout(post.timeoutMs),
    })
    let bytes = 0
    for await (const chunk of body) {
      bytes += (chunk as Buffer).length
      if (bytes > post.responseBytesMax) break
    }
    return { status: statusCode, latencyMs: Math.round(performance.now() - began) }
  } finally {
    // Not `close`, which would wait for what nobody reads.
    await agent.destroy()
  }
}

/**
 * Why a URL may not be called, or null. A name that cannot be resolved now is let through: it is checked again, for
 * good, at every connection.
 */
export async function objectionTo(url: string, allow: CidrList): Promise<string | null> {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'must be an http or https URL'
  if (parsed.username || parsed.password) return 'must not hold a user name or a password'
  const late = delay(RESOLVE_MS_MAX, null, { ref: false })
  const addresses = await Promise.race([resolve(hostOf(parsed.hostname)).catch(() => null), late])
  if (addresses && !addresses.some(address => mayConnect(address, allow))) return 'must be at a public address'
  return null
}

function guardedConnector({ allow, timeoutMs }: SafePost): buildConnector.connector {
  const connect = promisify(buildConnector({ timeout: timeoutMs, allowH2: false })) as Open
  const open: Open = async options => {
    const host = hostOf(options.hostname)
    const address = (await resolve(host)).find(candidate => mayConnect(candidate, allow))
    if (!address) throw new ForbiddenAddress(`${host} is not at a public address`)
    const socket = await connect({ ...options, hostname: address, ...(!isIP(host) && { servername: host }) })
    if (mayConnect(socket.remoteAddress ?? '', allow)) return socket
    socket.destroy()
    throw new ForbiddenAddress(`${host} is not at a public address`)
  }
  return callbackify(open) as unknown as buildConnector.connector
}

type Open = (options: buildConnector.Options) => Promise<Socket>

/** A literal address is no question to DNS, and is checked all the same. */
async function resolve(host: string): Promise<string[]> {
  if (isIP(host)) return [host]
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address)
}

const hostOf = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')
