// The guardian looks every ten seconds.
import type { Loop } from '../../platform/loops/loop.ts'
import { evaluate } from './evaluate.ts'
import { HourCache } from './hour-cache.ts'

export const guardianLoops = (cache = new HourCache()): Loop[] => [
  {
    kind: 'every',
    name: 'guardian',
    seconds: 10,
    run: async world => {
      await evaluate(world, cache)
    },
  },
]
