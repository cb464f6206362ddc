// Opening a stream: what can be refused is refused here, while the caller still waits for the head of the answer.
import type { BeginStream } from '../../platform/http/contract.ts'
import type { Frame } from '../../platform/http/streams/frames.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import type { OpenStreams } from './open-streams.ts'
import { resetFrame } from './present.ts'
import { findOldestEvent, type Bounds } from './queries.ts'

interface StreamAsked {
  caller: KeyPrincipal
  inboxId: string
  /** Null: from now on. */
  afterId: number | null
}

export async function openStream(
  world: World,
  streams: OpenStreams,
  { caller, inboxId, afterId }: StreamAsked,
): Promise<BeginStream> {
  const { accountId } = caller.reach
  streams.requireCapacity(accountId)
  const order = await streams.opening(accountId, async () => {
    const { id } = await requireInboxInReach(world.db, caller.reach, inboxId)
    // Before the head goes out: what happens after the caller has seen it must not be missed.
    const start = await startAt(world, { inboxId: id, afterId, bounds: await streams.bounds.submit(id) })
    const slot = await streams.slots.take(caller.keyId)
    return { caller, inboxId: id, slot, ...start }
  })
  return channel => streams.begin(order, channel)
}

async function startAt(
  { db, clock }: World,
  { inboxId, afterId, bounds }: { inboxId: string; afterId: number | null; bounds: Bounds },
): Promise<{ position: number; reset: Frame | null }> {
  const { newest, last, floor } = bounds
  if (afterId === null) return { position: newest, reset: null }
  if (afterId >= floor && afterId <= last) return { position: afterId, reset: null }
  // Events after that id are gone, or it is none of this journal: the database was restored from a copy.
  const oldest = await findOldestEvent(db, inboxId)
  const position = Math.max(newest, floor)
  return { position, reset: resetFrame({ position, oldestId: oldest?.id ?? position, inboxId, now: clock.now() }) }
}
