// Where credentials were used from is kept for eight days: a week to compare with, and the day that is compared.
import { system } from '../../platform/db/actor.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { deleteCredentialAddresses } from './queries.ts'

const KEPT_MS = 8 * 86_400_000
const BATCH = 10_000

export const smtpCredentialLoops: Worker[] = [
  {
    kind: 'periodic',
    name: 'login-addresses-retention',
    seconds: 3600,
    run: async (world, signal) => {
      for (let deleted = BATCH; deleted === BATCH && !signal.aborted;) {
        deleted = await world.db.transact(system('login-addresses'), tx =>
          deleteCredentialAddresses(tx, { before: new Date(tx.now.getTime() - KEPT_MS), limit: BATCH }),
        )
      }
    },
  },
]
