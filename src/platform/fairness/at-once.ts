// Acts of which so many may go on at once, and so many of one owner. The others wait for their turn, round robin of owners
// and of their tenants; who waits for too long is refused.
import { refuse } from '../refusal.ts'
import { Semaphore } from './semaphore.ts'

interface Bounds {
  permits: number
  perOwner: number
  /** Said to a caller that has waited for too long. */
  refusal: string
  waitMsMax?: number
  retryAfterSeconds?: number
}

/** Never one within another of the same: an owner that has all of its permits would wait for itself. */
export type AtOnce = <T>(owner: string | null, act: () => Promise<T>, tenant?: string) => Promise<T>

/** Callers over HTTP commonly give up after two minutes. */
const WAIT_MS_MAX = 100_000

export function atOnce({ refusal, waitMsMax = WAIT_MS_MAX, retryAfterSeconds = 10, ...shares }: Bounds): AtOnce {
  const semaphore = new Semaphore({ ...shares, waitMsMax })
  const tooMany = () => refuse('unavailable', `${refusal} Try again shortly.`, { retryAfterSeconds })
  return (owner, act, tenant) => semaphore.run(owner, tooMany, act, tenant)
}
