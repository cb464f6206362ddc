// The guardian looks every ten seconds (DECISIONS §6).
import type { Loop } from '../../platform/loops/loop.ts'
import { evaluate } from './evaluate.ts'

export const guardianLoops: Loop[] = [
  {
    kind: 'every',
    name: 'guardian',
    seconds: 10,
    run: async world => {
      await evaluate(world)
    },
  },
]
