// For whom this installation takes mail from outside. Everything else is refused while the sender is still on the line,
// because we never send a bounce for mail that anybody may have written.
import { parseAddressOnly } from '../../mail/address.ts'
import type { Config } from '../../platform/config.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { readReturnPath } from '../../sending/delivery/return-path.ts'

export type Recognised =
  /** A return path or complaint address that we handed out; `n` is null where several recipients shared it. */
  | { kind: 'bounce' | 'complaint'; messageId: string; n: number | null }
  /** An address that every mail host must have (RFC 2142). */
  | { kind: 'role'; name: string }

export interface Here {
  secrets: Secrets
  config: Pick<Config, 'MX_HOST' | 'RETURN_PATH_HOST' | 'PLATFORM_DOMAIN'>
}

const ROLES = new Set(['postmaster', 'abuse'])

/** What the address is to us, or null. A token that we did not write is nothing, whatever it looks like. */
export function recognise({ secrets, config }: Here, recipient: string): Recognised | null {
  // RFC 5321 §4.1.1.3: postmaster is known also without a domain.
  if (recipient.toLowerCase() === 'postmaster') return { kind: 'role', name: 'postmaster' }
  const address = parseAddressOnly(recipient)
  if (!address) return null
  const ours = recogniseToken(secrets, address.local)
  if (ours) return ours
  const name = address.local.toLowerCase()
  const hosts = [config.MX_HOST, config.RETURN_PATH_HOST, config.PLATFORM_DOMAIN]
  return ROLES.has(name) && hosts.includes(address.domain) ? { kind: 'role', name } : null
}

export function recogniseToken(
  secrets: Secrets,
  local: string,
): Extract<Recognised, { kind: 'bounce' | 'complaint' }> | null {
  const delivery = readReturnPath(secrets, local)
  return delivery && { kind: /^c/i.test(local) ? 'complaint' : 'bounce', ...delivery }
}
