// Approvals: deciding about mail that waits, and its end after a week.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import type { EmailContact } from './contact-person.ts'
import { linkRoutes } from './link-routes.ts'
import { expireApprovals } from './reject.ts'
import { approvalRoutes } from './routes.ts'

export const feature = (
  world: World,
  { composing, emailContact }: { composing: Composing; emailContact: EmailContact },
): Feature => ({
  routes: [...approvalRoutes(world, composing), ...linkRoutes(world, { composing, emailContact })],
  workers: [
    {
      kind: 'periodic',
      name: 'approvals-expiry',
      seconds: 60,
      run: (_world, signal) => expireApprovals(world, signal),
    },
  ],
})
