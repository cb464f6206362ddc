// The audit log, its seals and their verification.
import { setTimeout as delay } from 'node:timers/promises'
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { auditRoutes } from './routes.ts'
import { sealNext } from './seal.ts'

export const feature = (world: World): Feature => ({
  routes: auditRoutes(world),
  workers: [{ kind: 'due', name: 'audit-seal', wakeOn: 'audit', pollSeconds: 2, run: sealAndRest }],
})

/** Bounds the number of signed heads under load to five a second; entries wait that long for their seal at most. */
const REST_MS = 200

async function sealAndRest(world: World, signal: AbortSignal): Promise<number> {
  const sealed = await sealNext(world)
  if (sealed > 0) await delay(REST_MS, null, { signal }).catch(() => {})
  return sealed
}
