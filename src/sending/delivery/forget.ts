// Letting go of the deliveries of messages whose time is over.
import type { Tx } from '../../platform/db/database.ts'
import { deleteDeliveries } from './queries.ts'

export const forgetDeliveries = (tx: Tx, messageIds: readonly string[]): Promise<number> =>
  deleteDeliveries(tx, messageIds)
