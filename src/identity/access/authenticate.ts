// Who is calling, and may they? There is no cache of keys: concurrent look-ups share one statement instead, so that a
// rotation or revocation is in force in every process the moment its call returns.
import { lookUpBatcher, type Batcher } from '../../platform/batcher.ts'
import type { Access } from '../../platform/http/contract.ts'
import { LastUse } from '../../platform/last-use.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import {
  mayAct,
  type KeyPrincipal,
  type Level,
  type OperatorPrincipal,
  type Principal,
} from '../../platform/principal.ts'
import { refuse, type Refusal } from '../../platform/refusal.ts'
import { parseApiKey, sameSecret } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { timingSafeEqual } from 'node:crypto'
import { AuthFailures } from './auth-failures.ts'
import { FailureLimit } from './failure-limit.ts'
import { listKeysByPrefixAnywhere, type KeyRow } from './queries.ts'
import { updateLastUsed } from '../api-keys/last-used.ts'

interface Credentials {
  access: Access
  authorization: string | undefined
  adminToken: string | undefined
  ip: string
}

/**
 * Wrong secrets of one key from one address within ten minutes. More than over SMTP: a program that runs on with a secret that
 * was rotated should hear 401 for a while, and guessing at 256 bits is hopeless at any rate.
 */
const FAILURES_MAX = 300

export class Authenticator {
  readonly #world: World
  readonly #adminToken: string
  readonly #keys: Batcher<string, KeyRow | null>
  readonly #failures: AuthFailures
  readonly #limit: FailureLimit
  readonly #uses: LastUse

  constructor(world: World, adminToken: string) {
    this.#world = world
    this.#adminToken = adminToken
    this.#uses = new LastUse(world, updateLastUsed)
    this.#failures = new AuthFailures(world, 'authentication')
    this.#limit = new FailureLimit(world.clock, FAILURES_MAX)
    this.#keys = lookUpBatcher(
      prefixes => listKeysByPrefixAnywhere(world.db, prefixes),
      row => row.prefix,
    )
  }

  /** The principal, or a 401 or 403. */
  async identify({ access, authorization, adminToken, ip }: Credentials): Promise<Principal | null> {
    switch (access.kind) {
      case 'public':
        return null
      case 'operator':
        return this.#identifyOperator(adminToken)
      case 'key': {
        const principal = await this.identifyBearer(authorization?.match(/^Bearer +(\S+) *$/i)?.[1], ip)
        requireAccess(access, principal)
        return principal
      }
    }
  }

  async identifyBearer(bearer: string | undefined, ip: string): Promise<KeyPrincipal> {
    const given = bearer === undefined ? null : parseApiKey(bearer)
    const key = given && (await this.#keys.submit(given.prefix))
    if (!given || !key || key.revoked_at) throw unauthorized()
    if (!timingSafeEqual(key.secret_hash, given.secretHash)) throw await this.#refuseGuess(key, ip)
    if (key.expires_at && key.expires_at <= this.#world.clock.now()) {
      throw refuse('key_expired', 'This API key has expired. Create a new one.')
    }
    if (key.allowed_cidrs.length > 0 && !cidrList(key.allowed_cidrs).contains(ip)) {
      throw refuse('ip_not_allowed', 'This API key may not be used from this address.')
    }
    this.#uses.note(key.id)
    return principalOf(key)
  }

  /** Writes what is still only in memory; to be called before the database is closed. */
  async flush(): Promise<void> {
    await Promise.all([this.#failures.flush(), this.#uses.flush()])
  }

  /**
   * Asked only after the secret was found wrong: a caller with the right one gets in, however much is guessed from the same
   * address. All guesses are counted, those beyond the limit too.
   */
  async #refuseGuess(key: KeyRow, ip: string): Promise<Refusal> {
    const retryAfterSeconds = this.#limit.waitSeconds(ip, key.prefix)
    if (retryAfterSeconds === 0) this.#limit.note(ip, key.prefix)
    const { id, account_id: accountId, tenant_id: tenantId } = key
    const data = { api_key_id: id, reason: 'wrong_secret' }
    await this.#failures.note({ subject: id, accountId, tenantId, ip, data })
    if (retryAfterSeconds === 0) return unauthorized()
    const message = 'Too many wrong secrets for this API key from this address. Try again later.'
    return refuse('rate_limited', message, { retryAfterSeconds })
  }

  #identifyOperator(adminToken: string | undefined): OperatorPrincipal {
    if (adminToken === undefined || !sameSecret(adminToken, this.#adminToken)) {
      throw refuse('unauthorized', 'A valid X-Admin-Token header is required.')
    }
    return { kind: 'operator' }
  }
}

function requireAccess(access: Access & { kind: 'key' }, principal: KeyPrincipal): void {
  if (access.tenantAdmin && principal.level === 'tenant') return
  const scopes = [access.scope, ...(access.orScope ? [access.orScope] : [])]
  if (!scopes.some(scope => mayAct(principal, scope))) {
    throw refuse('insufficient_scope', `This needs a key with the scope ${scopes.join(' or ')}.`)
  }
  if (!access.levels.includes(principal.level)) {
    throw refuse('forbidden', `This is not open to ${LEVEL_NAMES[principal.level]} keys.`)
  }
}

const LEVEL_NAMES: Record<Level, string> = { account: 'account-wide', tenant: 'tenant-bound', inbox: 'inbox-scoped' }

const principalOf = (key: KeyRow): KeyPrincipal => ({
  kind: 'key',
  keyId: key.id,
  prefix: key.prefix,
  name: key.name,
  level: key.inbox_id ? 'inbox' : key.tenant_id ? 'tenant' : 'account',
  scopes: new Set(key.scopes),
  reach: { accountId: key.account_id, tenantId: key.tenant_id, inboxId: key.inbox_id },
  allowedCidrs: key.allowed_cidrs,
  expiresAt: key.expires_at,
})

const unauthorized = () => refuse('unauthorized', 'A valid API key is required: Authorization: Bearer svc_….')
