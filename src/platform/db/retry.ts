// For what must not be forgotten because the database is away for a moment: a result that is known, a lease that is ours.
import { setTimeout as delay } from 'node:timers/promises'
import { isClosed, isUnavailable } from './errors.ts'

/** Short, so that a holder of leases proves it before others take them for lost. */
const RETRY_MS = 500

/**
 * Until it succeeds or fails for a reason of its own. Once the signal says so, it is tried one last time. Connections that
 * this process has closed do not come back: retrying then would keep a process alive that has nothing left to do.
 */
export async function retryWhileUnavailable<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    const isLast = signal.aborted
    try {
      return await act()
    } catch (error) {
      if (isLast || !isUnavailable(error) || isClosed(error)) throw error
      await delay(RETRY_MS, null, { signal }).catch(() => {})
    }
  }
}
