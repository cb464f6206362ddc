// The daily check, looked for every hour: a domain is due a day after its last check, whatever the hour.
import type { Worker } from '../../platform/work/worker.ts'
import { recheckDomains } from './recheck.ts'

export const domainLoops: Worker[] = [
  {
    kind: 'periodic',
    name: 'domain-recheck',
    seconds: 3600,
    run: async (world, signal) => {
      await recheckDomains(world, signal)
    },
  },
]
