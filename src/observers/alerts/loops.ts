// Making alerts from the journal, telling contacts of them, and forgetting what was told long ago.
import { system } from '../../platform/db/actor.ts'
import type { Loop } from '../../platform/loops/loop.ts'
import type { Ways } from './channels.ts'
import { deleteOldNotifications } from './notification-queries.ts'
import { Notifier } from './notify.ts'
import { alertTail } from './take-alerts.ts'

const KEPT_MS = 30 * 86_400_000

export const alertLoops = (ways: Ways, notifier = new Notifier(ways)): Loop[] => [
  alertTail,
  {
    kind: 'work',
    name: 'alert-notifications',
    wakeOn: 'alerts',
    pollSeconds: 2,
    run: (world, signal) => notifier.run(world, signal),
  },
  {
    kind: 'every',
    name: 'alert-notifications-retention',
    seconds: 3600,
    run: async world => {
      await world.db.transact(system('alerts'), tx =>
        deleteOldNotifications(tx, { before: new Date(tx.now.getTime() - KEPT_MS), limit: 10_000 }),
      )
    },
  },
]
