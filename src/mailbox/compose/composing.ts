// What composing needs besides the World: the gate, the look-up of inboxes, drafts that are sent later, and the permits of
// large mail.
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { Slices } from '../../platform/slices.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../../sending/messages/gate.ts'
import { inboxLookUp, type FindInbox } from '../inboxes/look-up.ts'
import type { ComposeOrder } from './compose.ts'
import type { Composed } from './compose-schema.ts'
import { FileReader } from './read-files.ts'

/** Makes a scheduled draft of what would otherwise be sent now. */
export type Schedule = (order: ComposeOrder & { caller: KeyPrincipal }) => Promise<Composed>

export interface Composing {
  gate: Gate
  publicUrl: () => string
  slices: Slices
  requireInbox: FindInbox
  schedule: Schedule
  withPermit: WithPermit
  files: FileReader
}

/**
 * Acts at once with small mail, and with large mail when there is a permit, 503 when none comes in time. What is stored is
 * read only then. Never within another one: an account with two permits would wait for a third.
 */
type WithPermit = <T>(mail: { accountId: string; bytes: number }, act: () => Promise<T>) => Promise<T>

/** Preparing a larger one takes more than a millisecond or two of the main thread. */
export const SMALL_BYTES_MAX = 256 * 1024
/** Each costs several times its size between its preparation and its commit. */
const LARGE_AT_ONCE = { permits: 4, perOwner: 2, waitMsMax: 100_000 }

function permits(): WithPermit {
  const largeAtOnce = new Semaphore(LARGE_AT_ONCE)
  return ({ accountId, bytes }, act) => (bytes > SMALL_BYTES_MAX ? largeAtOnce.run(accountId, tooManyWait, act) : act())
}

const tooManyWait = () =>
  refuse('unavailable', 'Too much large mail of this account waits to be accepted. Try again shortly.', {
    retryAfterSeconds: 10,
  })

export const composingWith = (world: World, given: Pick<Composing, 'gate' | 'publicUrl' | 'schedule'>): Composing => ({
  ...given,
  slices: new Slices(),
  requireInbox: inboxLookUp(world),
  withPermit: permits(),
  files: new FileReader(world),
})
