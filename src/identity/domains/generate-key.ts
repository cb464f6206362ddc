// DKIM keys within bounds: a pair takes up to a second of a core, and a core that makes keys serves nobody else.
import { generateDkimKey, type DkimKey } from '../../mail/dkim/sign.ts'
import { atOnce } from '../../platform/fairness/at-once.ts'

/** Two threads of the four that Node has for such work stay free for files and names. */
const KEYS_AT_ONCE = { permits: 2, perOwner: 1, waitMsMax: 20_000 }
const TOO_MANY = { refusal: 'Too many domains are being created.', retryAfterSeconds: 20 }

/** For the account, or for the installation itself where it is null. */
type GenerateKey = (accountId: string | null) => Promise<DkimKey>

export function keyGenerator(bounds = KEYS_AT_ONCE): GenerateKey {
  const withPermit = atOnce({ ...bounds, ...TOO_MANY })
  return accountId => withPermit(accountId, generateDkimKey)
}
