// Taking an old bounce off a suppression list, where somebody decides that an address deserves another try.
import type { Tx } from '../../platform/db/database.ts'
import { listedAddress } from './listed-address.ts'
import { deleteOldBounce } from './queries.ts'
import type { Addressed } from './suppressed.ts'

interface OldBounce extends Addressed {
  /** Only one that is older than this. */
  before: Date
}

/** Complaints and wishes stay: only what was found out about the address is forgotten. */
export const liftOldBounce = (tx: Tx, { address, ...rest }: OldBounce): Promise<number> =>
  deleteOldBounce(tx, { ...rest, address: listedAddress(address) })
