// Access tokens of connected mailboxes. A token that is about to expire is refreshed once, whatever number of workers and
// processes want it: the right to ask the provider is a lease in the row, and the provider is asked outside any transaction.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { system } from '../../platform/db/actor.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { World } from '../../platform/world.ts'
import { InvalidGrant, OAuthFault, refreshTokens, type Tokens } from './oauth.ts'
import { providersOf, type Provider, type Providers } from './providers.ts'
import {
  claimRefresh,
  findConnection,
  updateAccessTokenRefused,
  updateNotRefreshed,
  updateRefreshed,
  type ConnectionRow,
} from './queries.ts'
import { reportGrantGone } from './mirror.ts'
import { openToken, sealToken } from './seal.ts'

/** A token is good for a conversation that begins now. */
const FRESH_MS = 60_000
/** Longer than the wait for a slot and the request together: only a process that died leaves it to lapse. */
const LEASE_MS = 40_000
const WAIT_MS_MAX = 30_000
const LOOK_AGAIN_MS = 100
/** After an answer that said nothing about the grant. */
const RETRY_MS = 5_000
const RETRY_MS_MAX = 300_000
const STORE_MS_MAX = 300_000

const ENDED = 'The provider has ended the grant. Connect the mailbox again.'
const by = system('access tokens')

export interface Grant {
  address: string
  accessToken: string
  /** Rises with each new grant. */
  generation: number
}

/** There is no grant, or no longer. */
export class GrantGone extends Error {}

export class AccessTokens {
  readonly #world: World
  readonly #providers: Providers
  readonly #asking = new Map<string, Promise<Grant>>()

  constructor(world: World) {
    this.#world = world
    this.#providers = providersOf(world.config)
  }

  /**
   * Fresh for at least a minute. Throws `GrantGone` where the provider says so, and anything else where the provider could
   * not be asked.
   */
  current(inboxId: string): Promise<Grant> {
    const asking = this.#asking.get(inboxId)
    if (asking) return asking
    const found = this.#find(inboxId).finally(() => this.#asking.delete(inboxId))
    this.#asking.set(inboxId, found)
    return found
  }

  /** The provider refused this token: the next `current` brings another. */
  async refused(inboxId: string, accessToken: string): Promise<void> {
    const { db, secrets } = this.#world
    const row = await findConnection(db, inboxId)
    if (!row?.access_token || openToken(secrets, { ...row, kind: 'access' }, row.access_token) !== accessToken) return
    await db.transact(by, tx => updateAccessTokenRefused(tx, row))
  }

  async #find(inboxId: string): Promise<Grant> {
    const { clock, secrets } = this.#world
    const until = performance.now() + WAIT_MS_MAX
    while (performance.now() < until) {
      const row = await requireGrant(this.#world, inboxId)
      const now = clock.now()
      if (row.access_token && row.access_expires_at!.getTime() > now.getTime() + FRESH_MS) {
        return grantOf(row, openToken(secrets, { ...row, kind: 'access' }, row.access_token))
      }
      const refreshed = await this.#refresh(row)
      if (refreshed) return refreshed
      const isWaiting = row.refresh_lease === null && row.refresh_until !== null && row.refresh_until > now
      if (isWaiting) throw new Error('the provider could not be asked for a token a moment ago')
      await delay(LOOK_AGAIN_MS)
    }
    throw new Error('another process did not get a token in time')
  }

  /** Null when it is not ours to do. */
  async #refresh(row: ConnectionRow): Promise<Grant | null> {
    const { db } = this.#world
    const provider = this.#providers[row.provider]
    if (!provider) throw new Error(`${row.provider} is not configured`)
    const lease = randomUUID()
    const claimed = await db.transact(by, tx =>
      claimRefresh(tx, row, {
        freshUntil: new Date(tx.now.getTime() + FRESH_MS),
        lease,
        until: new Date(tx.now.getTime() + LEASE_MS),
      }),
    )
    const tokens = claimed && (await this.#ask(provider, claimed, lease))
    // Connected anew, or disconnected, meanwhile.
    return tokens && (await this.#store(tokens, claimed)) ? grantOf(claimed, tokens.accessToken) : null
  }

  /** The provider may have ended the old refresh token: the new one is kept until the database takes it. */
  #store({ refreshToken, accessToken, expiresInSeconds }: Tokens, row: ConnectionRow): Promise<boolean> {
    const { db, secrets } = this.#world
    const store = () =>
      db.transact(by, tx =>
        updateRefreshed(tx, row, {
          refreshToken: refreshToken === null ? null : sealToken(secrets, { ...row, kind: 'refresh' }, refreshToken),
          accessToken: sealToken(secrets, { ...row, kind: 'access' }, accessToken),
          expiresAt: new Date(tx.now.getTime() + expiresInSeconds * 1000),
        }),
      )
    return retryWhileUnavailable(store, AbortSignal.timeout(STORE_MS_MAX))
  }

  /** Null when the lease lapsed meanwhile: what the provider says of the token then was said of an older one. */
  async #ask(provider: Provider, row: ConnectionRow, lease: string): Promise<Tokens | null> {
    const { db, secrets, clock, log } = this.#world
    const { inbox_id: inboxId, account_id: owner } = row
    try {
      return await refreshTokens(provider, openToken(secrets, { ...row, kind: 'refresh' }, row.refresh_token!), owner)
    } catch (error) {
      if (error instanceof InvalidGrant) {
        const gone = { inboxId, generation: row.generation, refreshLease: lease, error: ENDED }
        if (!(await db.transact(by, tx => reportGrantGone(tx, gone)))) return null
        throw new GrantGone('the provider has ended the grant', { cause: error })
      }
      const seconds = error instanceof OAuthFault ? error.retryAfterSeconds : null
      const waitMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS, (seconds ?? 0) * 1000))
      const retryAt = new Date(clock.now().getTime() + waitMs)
      await db.transact(by, tx => updateNotRefreshed(tx, { inboxId, lease, retryAt }))
      log.warn({ err: error, inbox_id: inboxId, provider: provider.name }, 'an access token could not be refreshed')
      throw error
    }
  }
}

async function requireGrant({ db }: World, inboxId: string): Promise<ConnectionRow> {
  const row = await findConnection(db, inboxId)
  if (!row) throw new GrantGone('the inbox is not connected')
  if (row.refresh_token === null) throw new GrantGone('the mailbox must be connected again')
  return row
}

const grantOf = ({ address, generation }: ConnectionRow, accessToken: string) => ({ address, accessToken, generation })
