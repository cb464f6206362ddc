// For whom this installation takes mail from outside. Everything else is refused while the sender is still on the line,
// because we never send a bounce for mail that anybody may have written.
import { parseAddressOnly } from '../../mail/address/address.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { readReturnPath, type ReadReturnPath } from '../../sending/delivery/return-path.ts'

export type Recognised =
  /** A return path or complaint address that we handed out. */
  | ReadReturnPath
  /** An address that every mail host must have (RFC 2142). */
  | { kind: 'role'; name: string }

interface Here {
  secrets: Secrets
  clock: Clock
  config: Pick<Config, 'MX_HOST' | 'RETURN_PATH_HOST' | 'PLATFORM_DOMAIN'>
}

const ROLES = new Set(['postmaster', 'abuse'])

/** What the address is to us, or null. A token that we did not write, or long ago, is nothing, whatever it looks like. */
export function recognise({ secrets, config, clock }: Here, recipient: string): Recognised | null {
  // RFC 5321 §4.1.1.3: postmaster is known also without a domain.
  if (recipient.toLowerCase() === 'postmaster') return { kind: 'role', name: 'postmaster' }
  const address = parseAddressOnly(recipient)
  if (!address) return null
  const ours = readReturnPath(secrets, address.local, clock.now())
  if (ours) return ours
  const name = address.local.toLowerCase()
  const hosts = [config.MX_HOST, config.RETURN_PATH_HOST, config.PLATFORM_DOMAIN]
  return ROLES.has(name) && hosts.includes(address.domain) ? { kind: 'role', name } : null
}
