// The sealing loop.
import { setTimeout as delay } from 'node:timers/promises'
import type { Worker } from '../../platform/work/worker.ts'
import { sealNext } from './seal.ts'

/** Bounds the number of signed heads under load to five a second; entries wait that long for their seal at most. */
const ROUND_PAUSE_MS = 200

export const auditLoops: Worker[] = [
  {
    kind: 'due',
    name: 'audit-seal',
    wakeOn: 'audit',
    pollSeconds: 2,
    run: async (world, signal) => {
      const sealed = await sealNext(world)
      if (sealed > 0) await delay(ROUND_PAUSE_MS, null, { signal }).catch(() => {})
      return sealed
    },
  },
]
