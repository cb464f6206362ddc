// The connections to one next hop, and the messages that wait for one.
import type { Connection } from './connection.ts'
import type { Owner } from './connection-shares.ts'
import type { Hop } from './next-hops.ts'
import { satisfies, type TlsPolicy } from './tls-policy.ts'

export interface Want {
  hop: Hop
  policy: TlsPolicy
  open: () => Promise<Connection>
  signal: AbortSignal | undefined
  /** Whose share of all connections it takes. */
  owner: Owner
  /** Nothing that was used before will do. */
  isFresh: boolean
}

export interface Waiter {
  want: Want
  /** A connection, or null: leave to open one. */
  grant: (connection: Connection | null) => void
  reject: (error: unknown) => void
}

/** All that goes to one next hop. Exists while it has connections or someone waiting. */
export interface HopPool {
  key: string
  host: string
  open: Set<Connection>
  opening: number
  /** The one used last is at the end: it is taken first, so that the others can age out. */
  idle: Connection[]
  waiting: Waiter[]
  /** How many connections the host has lately been willing to take. */
  ceiling: number
  ceilingUntil: number
  /** More are not opened, whatever it is willing to take. */
  connectionsMax: number
}

export const newHopPool = ({ key, host, connectionsMax = Infinity }: Hop): HopPool => ({
  key,
  host,
  open: new Set(),
  opening: 0,
  idle: [],
  waiting: [],
  ceiling: 0,
  ceilingUntil: 0,
  connectionsMax,
})

export const countOf = ({ open, opening }: HopPool): number => open.size + opening

/** The newest that serves; those found dead on the way are left to their own end. */
export function takeIdle(hopPool: HopPool | undefined, policy: TlsPolicy): Connection | null {
  for (let index = (hopPool?.idle.length ?? 0) - 1; index >= 0; index--) {
    const connection = hopPool!.idle[index]!
    if (connection.isUsable && !satisfies(connection, policy)) continue
    hopPool!.idle.splice(index, 1)
    if (!connection.isUsable) continue
    connection.markBusy()
    return connection
  }
  return null
}

export const isServed = ({ open }: HopPool, policy: TlsPolicy): boolean =>
  [...open].some(connection => connection.isUsable && satisfies(connection, policy))
