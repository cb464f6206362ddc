// What a tenant's key may renew: nothing that opens more doors than the key itself, for longer or from further away. A leaked
// key that is bound to a network and expires tomorrow would otherwise earn its thief one that is bound to neither.
import { isWithin } from '../../platform/net/cidr.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'

interface Renewable {
  allowed_cidrs: readonly string[]
  /** Null: never. */
  expires_at: string | null
}

/** 403 where it is good in more networks than the key, or for longer. */
export function requireNoWider(caller: KeyPrincipal, { allowed_cidrs, expires_at }: Renewable): void {
  const { allowedCidrs, expiresAt } = caller
  if (allowedCidrs.length > 0 && (allowed_cidrs.length === 0 || !isWithin(allowed_cidrs, allowedCidrs))) {
    throw refuse('forbidden', 'This may be used from networks that your key may not be used from.')
  }
  if (expiresAt !== null && (expires_at === null || Date.parse(expires_at) > expiresAt.getTime())) {
    throw refuse('forbidden', 'This is valid for longer than your key.')
  }
}
