// The guardian looks every ten seconds.
import type { Worker } from '../../platform/work/worker.ts'
import { evaluate } from './evaluate.ts'
import { HourCache } from './hour-cache.ts'

export const guardianLoops = (cache = new HourCache()): Worker[] => [
  {
    kind: 'periodic',
    name: 'guardian',
    seconds: 10,
    run: async world => {
      await evaluate(world, cache)
    },
  },
]
