// The headers of a push.
import type { KeyObject } from 'node:crypto'
import { sign } from './signature.ts'

interface PushFacts {
  type: string
  id: number
  /** 1 is the first. */
  attempt: number
  body: string
  keys: readonly KeyObject[]
  now: Date
}

/** Signed afresh for each try: receivers refuse what is older than five minutes. */
export const pushHeaders = ({ type, id, attempt, body, keys, now }: PushFacts): Record<string, string> => ({
  'Content-Type': 'application/json; charset=utf-8',
  'User-Agent': 'Sluice-Webhooks/1.0',
  'X-Service-Event': type,
  'X-Service-Event-Id': String(id),
  'X-Service-Delivery-Attempt': String(attempt),
  'X-Service-Signature': sign(keys, body, now),
})
