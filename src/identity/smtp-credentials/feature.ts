// SMTP credentials: who may submit mail, and from where it was done.
import { system } from '../../platform/db/actor.ts'
import type { Feature } from '../../platform/feature.ts'
import { RetentionScan } from '../../platform/work/retention-scan.ts'
import type { World } from '../../platform/world.ts'
import { deleteCredentialAddresses, type AddressKey } from './queries.ts'
import { smtpCredentialRoutes } from './routes.ts'

export function feature(world: World): Feature {
  const scan = new RetentionScan<AddressKey>()
  return {
    routes: smtpCredentialRoutes(world),
    workers: [
      {
        kind: 'periodic',
        name: 'login-addresses-retention',
        seconds: 3600,
        run: ({ db, clock }, signal) => forgetAddresses(scan, { db, now: clock.now() }, signal),
      },
    ],
  }
}

/** A week to compare with, and the day that is compared. */
const KEPT_MS = 8 * 86_400_000
const BATCH = 10_000

function forgetAddresses(
  scan: RetentionScan<AddressKey>,
  { db, now }: { db: World['db']; now: Date },
  signal: AbortSignal,
): Promise<number> {
  const before = new Date(now.getTime() - KEPT_MS)
  return scan.run({ now, size: BATCH, signal }, after =>
    db.transact(system('login-addresses'), tx => deleteCredentialAddresses(tx, { before, after, limit: BATCH })),
  )
}
