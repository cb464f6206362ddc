// A plan: what a month costs. All money is integer minor units.
import type { Static } from 'typebox'
import { DateTime, Int64, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const Tier = NamedObject('PlanTier', {
  up_to_recipients: Int64({ description: 'Last recipient of the month that is priced here; 0: open-ended' }),
  price_per_thousand_minor: Int64(),
})
export type Tier = Static<typeof Tier>

/** More bands than any price list has; each is looked at for every line of a preview. */
const TIERS_MAX = 50

export const prices = {
  currency: Type.String({ pattern: '^[A-Za-z]{3}$', description: 'ISO 4217, kept as given', examples: ['EUR'] }),
  base_price_minor: Int64({ description: 'For the month, whatever was sent' }),
  included_recipients: Int64({ description: 'Recipients of the month that cost nothing more' }),
  overage_per_thousand_minor: Int64({ description: 'For the recipients after those, where there are no tiers' }),
  tiers: Type.Array(Tier, {
    maxItems: TIERS_MAX,
    description: 'Prices by the ordinal of a recipient in the month: ends ascending, the last one open (0)',
  }),
  payment_price_id: Nullable(
    Type.String({
      maxLength: 255,
      pattern: '^[!-~]+$',
      description: 'Price of the payment provider; only plans that have one can be purchased',
    }),
  ),
}

export const Plan = NamedObject('Plan', {
  id: Uuid(),
  name: Type.String(),
  ...prices,
  active: Type.Boolean({ description: 'False: archived, kept for the months that it priced' }),
  created_at: DateTime(),
  archived_at: Nullable(DateTime()),
})
export type Plan = Static<typeof Plan>
