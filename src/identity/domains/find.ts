// Finding a domain named in somebody's request: 404 when it is not within the caller's reach.
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { requireDomain } from './queries.ts'
import type { StoredDomain } from './stored-domain.ts'

export const requireDomainInReach = (db: Db, reach: Reach, id: string): Promise<StoredDomain> =>
  requireDomain(db, reach, id)
