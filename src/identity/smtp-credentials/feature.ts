// SMTP credentials: who may submit mail, and from where it was done.
import { system } from '../../platform/db/actor.ts'
import type { Feature } from '../../platform/feature.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { World } from '../../platform/world.ts'
import { deleteCredentialAddresses } from './queries.ts'
import { smtpCredentialRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({
  routes: smtpCredentialRoutes(world),
  loops: [{ kind: 'periodic', name: 'login-addresses-retention', seconds: 3600, run: forgetAddresses }],
})

/** A week to compare with, and the day that is compared. */
const KEPT_MS = 8 * 86_400_000
const BATCH = 10_000

const forgetAddresses = ({ db }: World, signal: AbortSignal): Promise<number> =>
  inBatches(signal, BATCH, () =>
    db.transact(system('login-addresses'), tx =>
      deleteCredentialAddresses(tx, { before: new Date(tx.now.getTime() - KEPT_MS), limit: BATCH }),
    ),
  )
