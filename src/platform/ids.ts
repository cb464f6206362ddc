// UUIDv7 (RFC 9562 §5.7): time-ordered, so new rows land at the right edge of every index and tables can be
// partitioned on the id itself.
import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096
const pool = Buffer.allocUnsafe(POOL_BYTES)
let used = POOL_BYTES

let lastMs = 0
let sequence = 0

/** A new id for the given moment. Within one process ids only grow, also when the clock stands still or steps back. */
export function newId(now: Date): string {
  const ms = now.getTime()
  if (ms > lastMs) {
    lastMs = ms
    sequence = randomBytes(2).readUInt16BE() & 0x07ff
  } else if (lastMs - ms > STEP_BACK_MS_MAX) {
    // A clock set far back on purpose (tests): follow it rather than stamp ids with a time that is not now.
    lastMs = ms
    sequence = randomBytes(2).readUInt16BE() & 0x07ff
  } else if (++sequence > 0x0fff) {
    lastMs += 1
    sequence = 0
  }
  return idOf(lastMs, sequence)
}

const dated = { ms: 0, sequence: 0 }

/**
 * An id of exactly this moment, whichever others were made: for what is listed by a time that it brings along. Those that are
 * made in a row for one moment grow, as long as there are no more than two thousand.
 */
export function newIdAt(moment: Date): string {
  const ms = moment.getTime()
  if (ms === dated.ms && dated.sequence < 0x0fff) dated.sequence += 1
  else Object.assign(dated, { ms, sequence: randomBytes(2).readUInt16BE() & 0x07ff })
  return idOf(ms, dated.sequence)
}

function idOf(ms: number, sequence: number): string {
  const bytes = Buffer.allocUnsafe(16)
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(0x7000 | sequence, 6)
  randomBytes(8).copy(bytes, 8)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return format(bytes.toString('hex'))
}

/** NTP steps are smaller than this; anything larger was done on purpose. */
const STEP_BACK_MS_MAX = 10_000

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: unknown): text is string => typeof text === 'string' && UUID.test(text)

const format = (hex: string) =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

/** One system call fills many ids: randomBytes() per id costs more than the rest of this file. */
function randomBytes(count: number): Buffer {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

/** When it was made, to the millisecond: what a list by time is ordered and asked by. */
export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))

export const idToBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex')
export const idFromBytes = (bytes: Buffer): string => format(bytes.toString('hex'))

/** The smallest id of a moment: `id >= firstIdAt(since)` is "not before since", answered by the primary key. */
export const firstIdAt = (moment: Date): string =>
  format(Math.max(0, moment.getTime()).toString(16).padStart(12, '0').slice(-12) + '0'.repeat(20))
