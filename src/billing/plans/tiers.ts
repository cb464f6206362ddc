// Tiers cover every recipient of a month, each once: their ends ascend, and the last one is open.
import { refuse } from '../../platform/refusal.ts'
import type { Tier } from './plan.ts'

export function checkTiers(tiers: readonly Tier[]): void {
  tiers.forEach(({ up_to_recipients: end }, index) => {
    const field = `tiers[${index}].up_to_recipients`
    if (index === tiers.length - 1) {
      if (end !== 0) throw refuse('invalid_request', `${field} must be 0: the last tier is open-ended.`)
      return
    }
    if (end === 0) throw refuse('invalid_request', `${field} must not be 0: only the last tier is open-ended.`)
    if (index > 0 && end <= tiers[index - 1]!.up_to_recipients) {
      throw refuse('invalid_request', `${field} must be greater than that of the tier before.`)
    }
  })
}
