// Approvals: deciding about mail that waits, and its end after a week.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../../sending/messages/gate.ts'
import type { EmailContact } from './contact-person.ts'
import { linkRoutes } from './link-routes.ts'
import { expireApprovals } from './reject.ts'
import { approvalRoutes } from './routes.ts'

export const feature = (world: World, { gate, emailContact }: { gate: Gate; emailContact: EmailContact }): Feature => ({
  routes: [...approvalRoutes(world, gate), ...linkRoutes(world, { gate, emailContact })],
  loops: [
    {
      kind: 'periodic',
      name: 'approvals-expiry',
      seconds: 60,
      run: async (_world, signal) => {
        while (!signal.aborted && (await expireApprovals(world)) > 0);
      },
    },
  ],
})
