// Finding a tenant named in somebody's request: 404 when it is not within the caller's reach.
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import type { Tenant } from './contract.ts'
import { requireTenant } from './queries.ts'

export const requireTenantInReach = (db: Db, reach: Reach, id: string): Promise<Tenant> => requireTenant(db, reach, id)
