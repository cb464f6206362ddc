// What new mail must not repeat unseen.
import type { Feature } from '../../platform/feature.ts'
import { hashRemoved } from './removed.ts'

export const feature = (): Feature => ({
  workers: [{ kind: 'due', name: 'removed-taints', wakeOn: 'removals', pollSeconds: 30, run: hashRemoved }],
})
