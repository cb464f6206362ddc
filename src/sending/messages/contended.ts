// Small messages that must wait for a lock: for their tenant's counters, which another transaction has that stores ten
// thousand recipients, or for their account, which is being paused. Each tenant waits in a batch of its own, so that the
// senders of other tenants do not wait with it.
import { Batcher } from '../../platform/batcher.ts'
import { unavailable } from '../../platform/db/errors.ts'
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import type { Submission } from './submission.ts'

/** A waiting batch keeps a connection: few of all, and no account takes more than half of these. */
const WAITING_MAX = 4
const WAITING_PER_ACCOUNT_MAX = 2
/** As long as for a connection. */
const WAIT_MS_MAX = 5_000

interface ContendedOptions<Result> {
  run: (submissions: Submission[]) => Promise<Result[]>
  itemsMax: number
  weightMax: number
  weightOf: (submission: Submission) => number
}

interface TenantBatcher<Result> {
  batcher: Batcher<Submission, Result>
  pending: number
}

export class ContendedTenants<Result> {
  readonly #options: ContendedOptions<Result>
  readonly #byTenant = new Map<string, TenantBatcher<Result>>()
  readonly #semaphore = new Semaphore({
    permits: WAITING_MAX,
    perOwner: WAITING_PER_ACCOUNT_MAX,
    waitMsMax: WAIT_MS_MAX,
  })

  constructor(options: ContendedOptions<Result>) {
    this.#options = options
  }

  async submit(submission: Submission): Promise<Result> {
    const { tenantId } = submission
    const own = this.#byTenant.get(tenantId) ?? this.#open(submission)
    own.pending += 1
    try {
      return await own.batcher.submit(submission)
    } finally {
      own.pending -= 1
      if (own.pending === 0) this.#byTenant.delete(tenantId)
    }
  }

  #open({ accountId, tenantId }: Submission): TenantBatcher<Result> {
    const run = (submissions: Submission[]): Promise<Result[]> => this.#run(accountId, submissions)
    const own = { batcher: new Batcher<Submission, Result>({ ...this.#options, run, slots: 1 }), pending: 0 }
    this.#byTenant.set(tenantId, own)
    return own
  }

  #run(accountId: string, submissions: Submission[]): Promise<Result[]> {
    return this.#semaphore.run(accountId, lockedTooLong, () => this.#options.run(submissions))
  }
}

const lockedTooLong = (): Error => unavailable(new Error('an account or a tenant was locked too long'))
