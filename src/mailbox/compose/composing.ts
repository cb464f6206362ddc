// What composing needs besides the World: the gate, the look-up of inboxes, drafts that are sent later, and the turns of those
// who send large mail.
import type { KeyPrincipal } from '../../platform/principal.ts'
import { Slices } from '../../platform/slices.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../../sending/messages/gate.ts'
import { inboxLookUp, type FindInbox } from '../inboxes/look-up.ts'
import type { ComposeOrder } from './compose.ts'
import type { Composed } from './compose-schema.ts'

/** Makes a scheduled draft of what would otherwise be sent now. */
export type Schedule = (order: ComposeOrder & { caller: KeyPrincipal }) => Promise<Composed>

export interface Composing {
  gate: Gate
  publicUrl: () => string
  slices: Slices
  requireInbox: FindInbox
  schedule: Schedule
}

export const composingWith = (world: World, given: Pick<Composing, 'gate' | 'publicUrl' | 'schedule'>): Composing => ({
  ...given,
  slices: new Slices(),
  requireInbox: inboxLookUp(world),
})
