// Mail that comes in: the MX port, and the worker that files what was acknowledged.
import { system } from '../../platform/db/actor.ts'
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Postmaster } from '../postmaster/take.ts'
import type { Arrivals } from './arrivals.ts'
import { deleteOldConnections, deleteOldArrivalRates } from './queries.ts'
import { filingWorker } from './filing-worker.ts'
import { MxServer } from './server.ts'

const RATES_KEPT_MS = 5 * 60_000

const forgetRates = async ({ db, clock }: World): Promise<void> => {
  const before = new Date(clock.now().getTime() - RATES_KEPT_MS)
  await db.transactLightly(system('receiving'), async tx => {
    await deleteOldArrivalRates(tx, before)
    await deleteOldConnections(tx, before)
  })
}

interface Shared {
  arrivals: Arrivals
  postmaster: Postmaster
}

export function feature(world: World, { arrivals, postmaster }: Shared): Feature {
  let server: MxServer | null = null
  const filing = filingWorker(world, arrivals)
  return {
    ...filing.feature,
    workers: [...filing.workers, { kind: 'periodic', name: 'old-arrival-rates', seconds: 300, run: forgetRates }],
    smtp: {
      role: 'mx',
      listen: tls => {
        server = new MxServer({ world, tls, arrivals, postmaster })
        return server.listen()
      },
      close: async () => server?.close(),
    },
  }
}
