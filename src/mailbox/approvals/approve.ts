// Approving a mail that waits. What leaves is what was shown: the source and the recipients are those that were hashed when
// the approval was asked for. Everything else is asked anew: the inbox, its allowed recipients, pauses and limits.
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import { sameBytes } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { mailboxKeeper } from '../compose/keeper.ts'
import { contentHash } from '../compose/mail.ts'
import { refusalOfDecided, type ApprovalCompanion } from './companion.ts'
import type { Approval } from './contract.ts'
import { presentApproval } from './present.ts'
import { findHeldBytes, findHeldContent, requireApproval, type StoredApproval } from './queries.ts'

interface Approving {
  by: Actor
  /** `keyId` null: a person who was sent a link. */
  caller: { reach: Reach; keyId: string | null }
  id: string
}

export async function approve(world: World, composing: Composing, { by, caller, id }: Approving): Promise<Approval> {
  const approval = await requireApproval(world.db, caller.reach, id)
  const refusal = refusalOfDecided(approval, world.clock.now())
  if (refusal) throw refusal
  if (caller.keyId !== null && approval.requested_key_id === caller.keyId) {
    throw refuse('forbidden', 'The key that asked for this approval cannot give it.')
  }
  const bytes = await findHeldBytes(world.db, id)
  if (bytes === null) throw notFound('approval')
  await composing.withPermit({ accountId: approval.account_id, bytes }, () => send(world, composing, { by, approval }))
  return presentApproval(await requireApproval(world.db, caller.reach, id))
}

async function send(
  world: World,
  { gate }: Composing,
  { by, approval }: Pick<Approving, 'by'> & { approval: StoredApproval },
): Promise<void> {
  const held = await findHeldContent(world.db, approval.id)
  if (!held) throw notFound('approval')
  const { envelope, source } = held
  if (!sameBytes(contentHash(envelope, source), held.content_hash)) {
    throw refuse(
      'conflict',
      'What is stored is not what the approval was asked for. Reject it, and send the mail anew.',
    )
  }
  const companion: ApprovalCompanion = {
    kind: 'approval',
    lockKey: approval.inbox_id,
    keeper: mailboxKeeper,
    cost: 1,
    target: { type: 'approval', id: approval.id },
    approvalId: approval.id,
    envelope,
    decidedBy: { type: by.type, id: by.id, name: by.name },
  }
  await gate.submit({
    ...envelope,
    messageId: newId(world.clock.now()),
    accountId: approval.account_id,
    tenantId: approval.tenant_id,
    // Of the key that asked: a pause of that key holds what it sends.
    apiKeyId: approval.requested_key_id,
    credentialId: null,
    tags: [],
    metadata: {},
    source,
    hasUnsubscribe: false,
    idempotency: null,
    by,
    companion,
  })
}
