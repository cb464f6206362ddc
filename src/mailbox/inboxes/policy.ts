// The policy of an inbox: what the shield does with mail that comes in, and what may be sent. Stored as the fields that
// somebody set; a field that nobody set has its default, also when a later version adds one.
import type { Static } from 'typebox'
import { normaliseDomain, parseAddressOnly } from '../../mail/address/address.ts'
import { component, NamedObject, Nullable } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { refuse } from '../../platform/refusal.ts'

const MODES = ['off', 'observe', 'enforce']
/** Each is compared with the sender of every mail, or with every recipient. */
const ENTRIES_MAX = 1_000
const SEND_PER_HOUR_MAX = 1_000_000

const Senders = (description: string) =>
  Type.Array(Type.String({ maxLength: 320 }), { maxItems: ENTRIES_MAX, description })

const fields = {
  shield_mode: Type.Enum(MODES as ['off', 'observe', 'enforce'], { description: 'Inspection of mail that comes in' }),
  block_unauthenticated: Type.Boolean({
    description: 'Blocks mail that fails DMARC, or whose author nothing else proves',
  }),
  allow_senders: Senders(
    'Addresses or domains that are always allowed, where DMARC, or SPF or DKIM without a DMARC policy, proves them',
  ),
  block_senders: Senders('Addresses or domains that are always blocked, whatever the mode'),
  dlp: Type.Enum(MODES as ['off', 'observe', 'enforce'], { description: 'Data-loss prevention of mail that goes out' }),
  max_send_per_hour: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: SEND_PER_HOUR_MAX,
      description: 'Excess is held for approval; null: no limit',
    }),
  ),
  allow_recipients: Senders('Domains or addresses that may be written to; empty: all'),
  require_approval_on_taint: Type.Boolean({ description: 'Holds replies in tainted threads for approval' }),
}

export const Policy = NamedObject('InboxPolicy', fields)
export type Policy = Static<typeof Policy>

export const PolicyPatch = component('InboxPolicyPatch', Type.Partial(Type.Object(fields)))
export type PolicyPatch = Static<typeof PolicyPatch>

const DEFAULTS: Policy = {
  shield_mode: 'observe',
  block_unauthenticated: false,
  allow_senders: [],
  block_senders: [],
  dlp: 'off',
  max_send_per_hour: null,
  allow_recipients: [],
  require_approval_on_taint: false,
}

/** All eight fields of a stored policy. */
export const policyOf = (stored: PolicyPatch): Policy => ({ ...DEFAULTS, ...stored })

/** Field by field: a list that is given replaces the list. */
export function mergePolicy(current: Policy, patch: PolicyPatch): Policy {
  const given = Object.fromEntries(
    Object.entries(patch).filter(([name, value]) => name in fields && value !== undefined),
  )
  const merged: Policy = { ...current, ...given }
  for (const name of ['allow_senders', 'block_senders', 'allow_recipients'] as const) {
    if (patch[name])
      merged[name] = [...new Set(patch[name].map((entry, n) => readEntry(`policy.${name}[${n}]`, entry)))]
  }
  return merged
}

/**
 * An address or a domain as it is compared. Addresses of one person in two cases are one address here. `*@example.com` is
 * what many write for all addresses of a domain.
 */
function readEntry(field: string, entry: string): string {
  const text = entry.trim().replace(/^\*@/, '')
  const read = text.includes('@') ? parseAddressOnly(text)?.address.toLowerCase() : normaliseDomain(text)
  if (!read) throw refuse('invalid_request', `body.${field} must be an address or a domain.`)
  return read
}
