// Mail that the installation itself sends, such as alerts: through the same gate as everybody's, from accounts of the
// operator's own.
import { liftOldBounce } from './control/feedback/suppress.ts'
import { system } from './platform/db/actor.ts'
import { Refusal } from './platform/refusal.ts'
import type { World } from './platform/world.ts'
import { operatorAccounts, type OperatorAccounts } from './operator-account.ts'
import type { Gate } from './sending/messages/gate.ts'
import { prepareSmall } from './sending/messages/prepare.ts'

interface OperatorMail {
  to: string
  subject: string
  text: string
  /** The same mail asked for twice is sent once. */
  key: string
  /** What becomes of the mail can be told by this. */
  metadata: Record<string, string>
  /** Nothing leaves the machine. */
  isSandbox: boolean
}

const by = { ...system('operator mail'), action: 'message.send' }
/** After this long an address that bounced is tried once more: mailboxes fill and empty, and people repair their domains. */
const BOUNCE_MS = 24 * 3_600_000

/** Suppressed: the address has bounced lately or complained, and nothing was sent. */
export function operatorMail(
  world: World,
  gate: Gate,
  accounts: OperatorAccounts = operatorAccounts(world),
): (mail: OperatorMail) => Promise<'sent' | 'suppressed'> {
  const from = `Sluice <alerts@${accounts.domain}>`
  return async ({ to, subject, text, key, metadata, isSandbox }) => {
    const { account_id: accountId, tenant_id: tenantId } = await accounts.sender(isSandbox ? 'sandbox' : 'live')
    const before = new Date(world.clock.now().getTime() - BOUNCE_MS)
    await world.db.transact(by, tx => liftOldBounce(tx, { accountId, tenantId, address: to, before }))
    const body = { from, to: [to], subject, text, metadata }
    const order = { body, accountId, tenantId, apiKeyId: null, idempotencyKey: key, now: world.clock.now(), by }
    try {
      const { suppressed } = await gate.submit(prepareSmall({ ...order, publicUrl: '' }).submission)
      return suppressed > 0 ? 'suppressed' : 'sent'
    } catch (error) {
      // An earlier version sent it, in other words.
      if (error instanceof Refusal && error.code === 'idempotency_conflict') return 'sent'
      throw error
    }
  }
}
