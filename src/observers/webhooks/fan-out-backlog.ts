// The accounts that fan-out left behind: each has slices of its own events, in turn with the others.
import type { Due } from '../../platform/work/worker.ts'
import { backlogs, ROWS } from './fan-out.ts'
import { hasListeners, insertSliceOfAttempts } from './fan-out-queries.ts'

export const fanOutBacklog = (): Due =>
  backlogs.worker({
    name: 'webhook-backlogs',
    rows: ROWS,
    transactions: 'light',
    take: async (tx, { accountId, after, upTo }, rowsMax) => {
      if (!(await hasListeners(tx, accountId, after))) return { cursor: upTo }
      const { last, is_full: isFull } = await insertSliceOfAttempts(tx, accountId, { after, upTo, rowsMax })
      return { cursor: isFull ? last! : upTo }
    },
    taken: ({ wakeups }) => wakeups.hint('attempts'),
  })
