// Mirrors as leased work: the worker with the lease of a connection has its one session, which lasts until the process
// ends, the lease is lost or something fails. Each session is an attempt; the heartbeat keeps its lease.
import type { MailServer } from '../../platform/config-providers.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import type { Tx } from '../../platform/db/database.ts'
import { runFor } from '../../platform/owner.ts'
import { LeasedWorker } from '../../platform/work/leased-worker.ts'
import type { Ended, Leased } from '../../platform/work/leased-work.ts'
import { repeatedDelayMs } from '../../platform/work/retry-delay.ts'
import type { World } from '../../platform/world.ts'
import {
  claimDueConnections,
  extendConnectionLeases,
  listLeasedConnections,
  releaseConnectionLeases,
  reportFailing,
  reportGrantGone,
  reportReleased,
  type DueConnection,
} from '../connections/mirror.ts'
import { GrantGone } from '../connections/tokens.ts'
import { ProviderFault, type FaultKind } from '../imap/fault.ts'
import type { Patience } from '../imap/session.ts'
import { LocalChanges } from './local-changes.ts'
import { LeaseLost } from './mirror.ts'
import { SourceReader } from './read-source.ts'
import { MirrorSession, type Pace } from './session.ts'
import { signIn, type Tokens } from './sign-in.ts'
import { loadFolders } from './load-folders.ts'
import { Permits } from './permits.ts'

/** Sessions of one process. The share of one account, half of what is free, is more than five hundred. */
const SESSIONS_MAX = 1_200
const LIMITS = {
  inFlight: { all: SESSIONS_MAX, new: SESSIONS_MAX, slow: SESSIONS_MAX },
  perKey: { first: 1, max: 1, aheadMax: 1, quickMs: 1_000 },
}

const RETRY_DELAYS_MS = [5_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000]
/** A provider that asks for less counts in longer terms. */
const THROTTLED_DELAYS_MS = [60_000, 300_000, 900_000, 1_800_000, 3_600_000]
/** Sign-ins in a row that the provider refuses although the token is fresh. A fault of its own passes by then. */
const REFUSALS_MAX = 5

type Result =
  | { kind: 'released' | 'lost' }
  | { kind: 'gone'; error: string }
  | { kind: FaultKind | 'fault'; error: string }

export interface MirrorOptions {
  tokens: Tokens
  servers: Record<'google' | 'microsoft', { imap: MailServer } | null>
  pace?: Partial<Pace>
  patience?: Partial<Patience>
}

const PACE: Pace = { pollMs: 60_000, progressMs: 5_000 }

/** The sessions of this process. */
export class Mirrors {
  readonly changes: LocalChanges
  readonly worker: LeasedWorker<DueConnection, Result>
  readonly #world: World
  readonly #options: MirrorOptions
  readonly #reader: SourceReader
  readonly #permits = new Permits()
  /** By the token of their lease. */
  readonly #ending = new Map<string, AbortController>()

  constructor(world: World, options: MirrorOptions) {
    this.#world = world
    this.#options = options
    this.changes = new LocalChanges(world)
    this.#reader = new SourceReader(world, this.#permits)
    this.worker = new LeasedWorker<DueConnection, Result>(world, {
      name: 'mirrors',
      metric: 'mirrors',
      wakeOn: 'connections',
      pollSeconds: 2,
      leaseMs: 30_000,
      limits: LIMITS,
      transactions: 'durable',
      claim: async (tx, claim) => {
        const inFlight = [...claim.inFlight]
        // A disconnect is a hint as well: sessions that are not wanted any more end now, not at the next heartbeat.
        if (inFlight.length > 0) this.#endOthers(inFlight, await listLeasedConnections(tx, inFlight))
        return claimDueConnections(tx, claim)
      },
      keyOf: ({ inbox_id: key, account_id: accountId }) => ({ key, accountId }),
      attempt: (connection, stopping) => this.#attempt(connection, stopping),
      // A session says nothing of how fast the next one will be.
      paceOf: () => 'untried',
      outcomeOf: ({ result }) => result.kind,
      record,
      leases: {
        extend: async (tx, leases, until) => this.#endOthers(leases, await extendConnectionLeases(tx, leases, until)),
        release: releaseConnectionLeases,
      },
    })
  }

  #endOthers(leases: readonly Leased<DueConnection>[], ours: readonly { inbox_id: string }[]): void {
    const kept = new Set(ours.map(({ inbox_id }) => inbox_id))
    for (const { inbox_id, leaseToken } of leases) {
      if (!kept.has(inbox_id)) this.#ending.get(`${leaseToken} ${inbox_id}`)?.abort(new LeaseLost())
    }
  }

  async #attempt(connection: Leased<DueConnection>, stopping: AbortSignal): Promise<Result> {
    const { leaseToken, inbox_id, account_id } = connection
    const controller = new AbortController()
    const name = `${leaseToken} ${inbox_id}`
    this.#ending.set(name, controller)
    const signal = AbortSignal.any([stopping, controller.signal])
    try {
      // Beside the share of the account's requests, so that these do not wait for its mirrors.
      return await runFor(`mirror ${account_id}`, () => this.#run(connection, signal))
    } catch (err) {
      if (controller.signal.aborted || err instanceof LeaseLost) return { kind: 'lost' }
      if (stopping.aborted) return { kind: 'released' }
      return resultOf(this.#world, connection, err)
    } finally {
      this.#ending.delete(name)
    }
  }

  async #run(connection: Leased<DueConnection>, signal: AbortSignal): Promise<Result> {
    const { inbox_id: inboxId, account_id: accountId, provider, generation, leaseToken } = connection
    const { tokens, servers, pace, patience } = this.#options
    const server = servers[provider]
    if (!server) return { kind: 'failed', error: 'The provider is not configured here.' }
    const { imap, grant } = await signIn(tokens, server.imap, {
      inboxId,
      patience,
      withPermit: act => this.#permits.token(accountId, act),
    })
    let session: MirrorSession | null = null
    try {
      if (grant.generation !== generation) throw new LeaseLost()
      signal.throwIfAborted()
      const lease = { inboxId, generation, leaseToken }
      const { address, connected_at: connectedAt } = connection
      const bare = {
        world: { ...this.#world, db: this.#permits.databaseOf(this.#world.db, accountId) },
        reader: this.#reader,
        imap,
        lease,
        accountId,
        provider,
        address,
        connectedAt,
        refused: new Set<string>(),
        foundAgain: new Set<string | null>(),
      }
      const mirror = { ...bare, folders: await loadFolders(bare) }
      session = new MirrorSession(mirror, { ...PACE, ...pace }, signal)
      return await session.run(this.changes)
    } catch (err) {
      if (session?.wasWell && err instanceof ProviderFault && err.kind === 'failed') return { kind: 'released' }
      throw err
    } finally {
      imap.close()
    }
  }
}

function resultOf(world: World, { inbox_id }: DueConnection, err: unknown): Result {
  if (err instanceof GrantGone) return { kind: 'gone', error: err.message || 'The provider no longer grants access.' }
  if (err instanceof ProviderFault) return { kind: err.kind, error: err.message }
  if (isUnavailable(err)) return { kind: 'fault', error: 'The service was not available.' }
  world.log.error({ err, inbox_id }, 'a mirror ended for a fault of ours')
  return { kind: 'fault', error: 'Synchronising failed for a reason of ours.' }
}

async function record(tx: Tx, ended: readonly Ended<DueConnection, Result>[]) {
  const recorded: Ended<DueConnection, Result>[] = []
  for (const each of ended) if (await recordOne(tx, each)) recorded.push(each)
  return recorded
}

async function recordOne(tx: Tx, { item, result }: Ended<DueConnection, Result>): Promise<boolean> {
  const { inbox_id: inboxId, generation, leaseToken, attempts, refusals } = item
  const lease = { inboxId, generation, leaseToken }
  switch (result.kind) {
    case 'lost':
      return false
    case 'released':
      return reportReleased(tx, lease)
    case 'gone':
      return reportGrantGone(tx, { inboxId, generation, error: result.error })
    case 'refused':
    case 'throttled':
    case 'failed':
    case 'fault': {
      const { kind, error } = result
      const isRefused = kind === 'refused'
      if (isRefused && refusals + 1 >= REFUSALS_MAX) return reportGrantGone(tx, { inboxId, generation, error })
      const delaysMs = kind === 'throttled' ? THROTTLED_DELAYS_MS : RETRY_DELAYS_MS
      const dueAt = new Date(tx.now.getTime() + repeatedDelayMs(delaysMs, attempts))
      return reportFailing(tx, lease, { error, dueAt, isRefused })
    }
  }
}
