// For whom this installation takes mail from outside. Everything else is refused while the sender is still on the line,
// because we never send a bounce for mail that anybody may have written.
import { isHeaderTooLarge, readHeader, valuesOf } from '../../mail/mime/headers.ts'
import { parseAddressOnly } from '../../mail/address/address.ts'
import { Batcher } from '../../platform/batcher.ts'
import type { World } from '../../platform/world.ts'
import { readReturnPath, type ReadReturnPath } from '../../sending/delivery/return-path.ts'
import { SharedCache } from '../../platform/shared-cache.ts'
import { withoutTag } from '../inboxes/addresses.ts'
import { findRecipients, isBehind, type FoundRecipient } from './queries.ts'

export type Recognised = ReportRecipient | InboxRecipient

/** Whom reports come to. */
export type ReportRecipient =
  /** A return path or complaint address that we handed out. */
  | ReadReturnPath
  /** An address that every mail host must have (RFC 2142). */
  | RoleRecipient

interface RoleRecipient {
  kind: 'role'
  name: string
  address: string
}

export interface InboxRecipient {
  kind: 'inbox'
  inboxId: string
  accountId: string
  isPaused: boolean
  /** What came for its account has waited for too long to be filed. */
  isBehind: boolean
}

/** More `Received` fields than this are a loop (RFC 5321 §6.3). */
const HOPS_MAX = 30

/** What is wrong with a message as a whole, as a reply; null where nothing is. */
export function refusalOf(source: Buffer): string | null {
  if (isHeaderTooLarge(source)) return '554 5.6.0 The header of the message is too large'
  const hops = valuesOf(readHeader(source), 'received').length
  return hops > HOPS_MAX ? '554 5.4.6 Too many hops: the message loops' : null
}

/** Why nothing is taken for the inbox now, as a reply; null where it is. */
export function refusalFor({ isPaused, isBehind }: InboxRecipient): string | null {
  if (isPaused) return '450 4.2.1 The mailbox is paused; try again later'
  return isBehind ? '451 4.3.1 Too much waits to be filed; try again later' : null
}

const ROLES = new Set(['postmaster', 'abuse'])

/** Due for longer than this and not filed: more would wait even longer, and the sender can keep it as well. */
const BEHIND_MS = 10 * 60_000

/** Whether an account is behind is a matter of minutes. */
const BEHIND_KNOWN_MS = 1_000
const ACCOUNTS_MAX = 10_000

/** Recipients that are asked for at the same time share one statement. */
export class Recipients {
  readonly #world: World
  readonly #finder: Batcher<{ local: string; domain: string }, FoundRecipient | null>
  readonly #behind: SharedCache<boolean>

  constructor(world: World) {
    this.#world = world
    this.#finder = new Batcher({
      run: asked => findRecipients(world.db, asked),
      itemsMax: 200,
      slots: 2,
    })
    const { clock, db } = world
    this.#behind = new SharedCache({
      clock,
      entriesMax: ACCOUNTS_MAX,
      load: async accountId => ({
        value: await isBehind(db, accountId, new Date(clock.now().getTime() - BEHIND_MS)),
        ttlMs: BEHIND_KNOWN_MS,
      }),
    })
  }

  /** What the address is to us, or null. A token that we did not write, or long ago, is nothing, whatever it looks like. */
  async recognise(recipient: string): Promise<Recognised | null> {
    const { secrets, config, clock } = this.#world
    // RFC 5321 §4.1.1.3: postmaster is known also without a domain.
    if (recipient.toLowerCase() === 'postmaster') return { kind: 'role', name: 'postmaster', address: 'postmaster' }
    const address = parseAddressOnly(recipient)
    if (!address) return null
    const ours = readReturnPath(secrets, address.local, clock.now())
    if (ours) return ours
    const local = address.local.toLowerCase()
    const hosts = [config.MX_HOST, config.RETURN_PATH_HOST, config.PLATFORM_DOMAIN]
    const role: RoleRecipient = { kind: 'role', name: local, address: address.address }
    if (ROLES.has(local) && hosts.includes(address.domain)) return role
    const found = await this.#finder.submit({ local: withoutTag(local), domain: address.domain })
    if (found?.inbox_id) return toInbox(found, await this.#behind.get(found.account_id))
    return found && ROLES.has(local) ? role : null
  }
}

const toInbox = (found: FoundRecipient, isAccountBehind: boolean): InboxRecipient => ({
  kind: 'inbox',
  inboxId: found.inbox_id!,
  accountId: found.account_id,
  isPaused: found.status === 'paused',
  isBehind: isAccountBehind,
})
