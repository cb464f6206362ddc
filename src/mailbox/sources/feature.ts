// Sources of mail: once for all inboxes that a mail was filed in, removed with the last of its messages.
import type { Feature } from '../../platform/feature.ts'
import { removeSources } from './removals.ts'

export const feature = (): Feature => ({
  workers: [{ kind: 'due', name: 'source-removal', wakeOn: 'removals', pollSeconds: 30, run: removeSources }],
})
