// DKIM keys within bounds: a pair takes up to a second of a core, and a core that makes keys serves nobody else.
import { generateDkimKey, type DkimKey } from '../../mail/dkim/sign.ts'
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import { refuse } from '../../platform/refusal.ts'

/** Two threads of the four that Node has for such work stay free for files and names. */
const KEYS_AT_ONCE = { permits: 2, perOwner: 1, waitMsMax: 20_000 }

/** For the account, or for the installation itself where it is null. */
type GenerateKey = (accountId: string | null) => Promise<DkimKey>

export function keyGenerator(bounds = KEYS_AT_ONCE): GenerateKey {
  const permits = new Semaphore(bounds)
  return accountId => permits.run(accountId, tooManyKeys, generateDkimKey)
}

const tooManyKeys = () =>
  refuse('unavailable', 'Too many domains are being created. Try again shortly.', { retryAfterSeconds: 20 })
