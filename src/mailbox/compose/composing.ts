// What composing needs besides the World: the gate, the look-up of inboxes, drafts that are sent later, and the permits that
// mail is sent with.
import { atOnce } from '../../platform/fairness/at-once.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../../sending/messages/gate.ts'
import { SMALL_BYTES_MAX } from '../../sending/messages/limits.ts'
import { inboxLookUp, type FindInbox } from '../inboxes/look-up.ts'
import { policyOf } from '../inboxes/policy.ts'
import type { ComposeOrder } from './compose.ts'
import type { Composed } from './compose-schema.ts'
import { inspectedFor } from './policy-reasons.ts'
import { FileReader } from './read-files.ts'

/** Makes a scheduled draft of what would otherwise be sent now. */
export type Schedule = (order: ComposeOrder & { caller: KeyPrincipal }) => Promise<Composed>

export interface Composing {
  gate: Gate
  publicUrl: () => string
  requireInbox: FindInbox
  schedule: Schedule
  withPermit: WithPermit
  files: FileReader
}

interface OutgoingSize {
  accountId: string
  bytes: number
  /** Where the content is inspected, as the policy of this inbox says. */
  inboxId?: string
}

/**
 * Acts when there is a permit, 503 when none comes in time. What is stored is read only then. Never within another one: an
 * account that has all of its permits would wait for itself.
 */
type WithPermit = <T>(mail: OutgoingSize, act: () => Promise<T>) => Promise<T>

function permits(requireInbox: FindInbox): WithPermit {
  const refusal = 'Too much mail of this account waits to be accepted.'
  // As many as the threads and the gate need to be busy. The others wait with nothing but their request in memory.
  const small = atOnce({ permits: 512, perOwner: 64, refusal })
  // Each costs several times its size between its preparation and its commit.
  const large = atOnce({ permits: 4, perOwner: 1, refusal })
  // Detectors and slow files take seconds: mail without them does not wait for it.
  const inspected = atOnce({ permits: 3, perOwner: 1, refusal })
  return async ({ accountId, bytes, inboxId }, act) => {
    if (bytes <= SMALL_BYTES_MAX) return small(accountId, act)
    const inbox = inboxId && (await requireInbox({ accountId, tenantId: null, inboxId: null }, inboxId))
    const { findings, taint } = inspectedFor(policyOf(inbox ? inbox.policy : {}))
    return (findings || taint ? inspected : large)(accountId, act)
  }
}

export function composingWith(world: World, given: Pick<Composing, 'gate' | 'publicUrl' | 'schedule'>): Composing {
  const requireInbox = inboxLookUp(world)
  const withPermit = permits(requireInbox)
  return { ...given, requireInbox, withPermit, files: new FileReader(world) }
}
