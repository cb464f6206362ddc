// The counters that everything observed is told in. What each one counts is decided by the roll-up.
import type { Static } from 'typebox'
import { Int64 } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { commaSeparated, Sql } from '../../platform/db/sql.ts'

export const Counters = Type.Object({
  recipients: Int64({ description: 'Recipients accepted for sending, held ones included, suppressed ones not' }),
  delivered: Int64(),
  hard_bounces: Int64(),
  soft_bounces: Int64(),
  blocks: Int64({ description: 'Refused for policy, reputation, authentication or content' }),
  deferrals: Int64({ description: 'Attempts that were deferred; a recipient may have several' }),
  complaints: Int64(),
  auth_failures: Int64({ description: 'Failed SMTP logins, and wrong secrets of known API keys' }),
})
export type Counters = Static<typeof Counters>

export const NOTHING: Counters = {
  recipients: 0,
  delivered: 0,
  hard_bounces: 0,
  soft_bounces: 0,
  blocks: 0,
  deferrals: 0,
  complaints: 0,
  auth_failures: 0,
}

const COLUMNS = Object.keys(NOTHING).map(name => new Sql([name], []))

/** The same for the column of each counter, in the order of `NOTHING`. */
export const ofEachCounter = (write: (column: Sql) => Sql): Sql => commaSeparated(COLUMNS.map(write))

/** In the place of a tenant where a scope spans tenants. */
export const NO_TENANT = '00000000-0000-0000-0000-000000000000'
