// Idempotency keys: what a repetition must be the same in, and how another door than the gate answers each key once.
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Db, Tx } from '../../platform/db/database.ts'
import { collision } from '../../platform/db/errors.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { sameBytes } from '../../platform/secrets.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_MS } from './limits.ts'
import { findSameRequest, insertIdempotencyKeys, listIdempotencyKeys } from './queries.ts'

export interface KeyedRequest {
  tenantId: string
  key: string
  bodyHash: Buffer
}

/** What the key was answered with first; null where it is free, or was taken more than a day ago. */
export async function findFirstAnswer(db: Db, { tenantId, key, bodyHash }: KeyedRequest, now: Date) {
  const [earlier] = await listIdempotencyKeys(db, [{ tenantId, key }], oldestKey(now))
  if (!earlier) return null
  if (!sameBytes(earlier.body_hash, bodyHash)) throw usedOtherwise()
  return earlier.response
}

/** The answer to the same request within a day, whichever tenant of the reach it was made for. */
export async function findAnswerWithin(
  db: Db,
  reach: Reach,
  { key, bodyHash, now }: { key: string; bodyHash: Buffer; now: Date },
): Promise<object | null> {
  return (await findSameRequest(db, reach, { key, bodyHash, since: oldestKey(now) }))?.response ?? null
}

/** Kept with what was made, by the same transaction. Its caller has looked in that transaction whether the key is free. */
export async function keepFirstAnswer(
  tx: Tx,
  request: KeyedRequest,
  { madeId, response }: { madeId: string; response: object },
): Promise<void> {
  const taken = await insertIdempotencyKeys(tx, [{ ...request, madeId, response }], oldestKey(tx.now))
  if (taken === 0) throw collision('the idempotency key was taken meanwhile')
}

export const usedOtherwise = () => refuse('idempotency_conflict', 'This idempotency key was used with another body.')

/** Keys taken before this are forgotten. */
export const oldestKey = (now: Date): Date => new Date(now.getTime() - IDEMPOTENCY_MS)

/** The key itself is not part of what must be the same. Field order is the caller's affair. */
export function* bodyHash({ idempotency_key: _, ...body }: Readonly<Record<string, unknown>>): Generator<void, Buffer> {
  const hash = createHash('sha256')
  let [text, pieces] = ['', 0]
  for (const piece of jsonInOrder(body)) {
    text += piece
    if (text.length < PIECE_CHARS && ++pieces < PIECES_MAX) continue
    hash.update(text)
    ;[text, pieces] = ['', 0]
    yield
  }
  return hash.update(text).digest()
}

/** Between two steps: either takes about a millisecond. */
const PIECE_CHARS = 256 * 1024
const PIECES_MAX = 1_000

/** In pieces, with the fields of objects by their names. A long text is cut at the same places each time. */
function* jsonInOrder(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > PIECE_CHARS) {
    yield '"'
    for (let at = 0; at < value.length; at += PIECE_CHARS) {
      yield JSON.stringify(value.slice(at, at + PIECE_CHARS)).slice(1, -1)
    }
    yield '"'
  } else if (value === null || typeof value !== 'object') {
    yield JSON.stringify(value) ?? 'null'
  } else {
    const isList = Array.isArray(value)
    const fields = isList ? value.entries() : Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    yield isList ? '[' : '{'
    for (const [name, field] of fields) {
      if (!isList) yield `${JSON.stringify(name)}:`
      yield* jsonInOrder(field)
      yield ','
    }
    yield isList ? ']' : '}'
  }
}

/** As the field of that name would say it: bytes of a header that are UTF-8 come as one character each. */
export function keyInHeader(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const bytes = Buffer.from(header, 'latin1')
  const key = isUtf8(bytes) ? bytes.toString() : header
  if (Array.from(key).length > IDEMPOTENCY_KEY_CHARS_MAX) {
    throw refuse(
      'invalid_request',
      `headers.idempotency-key must have at most ${IDEMPOTENCY_KEY_CHARS_MAX} characters.`,
    )
  }
  return key
}
