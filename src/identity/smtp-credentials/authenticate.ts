// Who is submitting mail over SMTP? As with keys there is no cache: concurrent look-ups share one statement, so that a
// rotation or deletion is in force in every process the moment its call returns.
import { LastUse } from '../../platform/last-use.ts'
import { timingSafeEqual } from 'node:crypto'
import { lookUpBatcher, type Batcher } from '../../platform/batcher.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import { refuse, type Refusal } from '../../platform/refusal.ts'
import { mintSecret, sha256 } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { USERNAME } from './contract.ts'
import { AuthFailures } from '../access/auth-failures.ts'
import { FailureLimit } from '../access/failure-limit.ts'
import { LoginAddresses } from './login-addresses.ts'
import { listCredentialsByUsernameAnywhere, type CredentialToCheck, updateCredentialsLastUsed } from './queries.ts'

interface SmtpLogin {
  username: string
  password: string
  ip: string
}

/** Whom a login speaks for. */
export interface SmtpPrincipal {
  credentialId: string
  username: string
  accountId: string
  tenantId: string
}

type Reason = 'wrong_password' | 'ip_not_allowed'

/** More than the twenty at which the guardian's rule about a credential speaks up. */
const FAILURES_MAX = 30

export class SmtpAuthenticator {
  readonly #world: World
  readonly #credentials: Batcher<string, CredentialToCheck | null>
  readonly #failures: AuthFailures
  readonly #limit: FailureLimit
  readonly #uses: LastUse
  readonly #addresses: LoginAddresses
  /** Failures on their way into the journal. */
  readonly #recording = new Set<Promise<void>>()

  constructor(world: World) {
    this.#world = world
    this.#limit = new FailureLimit(world.clock, FAILURES_MAX)
    this.#failures = new AuthFailures(world, 'smtp-authentication')
    this.#uses = new LastUse(world, updateCredentialsLastUsed)
    this.#addresses = new LoginAddresses(world)
    this.#credentials = lookUpBatcher(
      usernames => listCredentialsByUsernameAnywhere(world.db, usernames),
      row => row.username,
    )
  }

  /** Refuses with `unauthorized`, `ip_not_allowed`, or `rate_limited` after too many failures from one address. */
  async authenticate({ username, password, ip }: SmtpLogin): Promise<SmtpPrincipal> {
    const credential = USERNAME.test(username) ? await this.#credentials.submit(username) : null
    // An unknown username is compared as well, so that the time to answer does not tell which ones exist.
    const isRight = timingSafeEqual(credential?.password_hash ?? NOBODYS_HASH, sha256(password))
    if (!credential || !isRight) throw this.#refuseGuess(ip, credential)
    if (credential.allowed_cidrs.length > 0 && !cidrList(credential.allowed_cidrs).contains(ip)) {
      // The password is right, so it is known to somebody it was not meant for: worth an event more than a typing
      // error.
      this.#fail(ip, credential, 'ip_not_allowed')
      throw refuse('ip_not_allowed', 'This SMTP credential may not be used from this address.')
    }
    this.#uses.note(credential.id)
    const { id: credentialId, account_id: accountId, tenant_id: tenantId } = credential
    const principal = { credentialId, username: credential.username, accountId, tenantId }
    this.#addresses.note(principal, ip)
    return principal
  }

  /** Writes what is still only in memory; to be called before the database is closed. */
  async flush(): Promise<void> {
    await Promise.all([...this.#recording, this.#failures.flush(), this.#uses.flush(), this.#addresses.flush()])
  }

  /**
   * Asked only after the password was found wrong: who has the right one gets in, however much is guessed by others behind
   * the same address.
   */
  #refuseGuess(ip: string, credential: CredentialToCheck | null): Refusal {
    const retryAfterSeconds = this.#limit.waitSeconds(ip)
    this.#fail(ip, credential, 'wrong_password')
    if (retryAfterSeconds === 0) return refuse('unauthorized', 'The username or the password is wrong.')
    return refuse('rate_limited', 'Too many failed logins from this address. Try again later.', { retryAfterSeconds })
  }

  /** Nobody waits for the journal here: the wait would tell that the username exists. */
  #fail(ip: string, credential: CredentialToCheck | null, reason: Reason): void {
    this.#limit.note(ip)
    if (!credential) return
    const { id, username, account_id: accountId, tenant_id: tenantId } = credential
    const data = { credential_id: id, username, reason }
    const recording = this.#failures
      .note({ subject: `${id} ${reason}`, accountId, tenantId, ip, data })
      .catch(err => this.#world.log.warn({ err }, 'a failed SMTP login could not be recorded'))
      .finally(() => this.#recording.delete(recording))
    this.#recording.add(recording)
  }
}

const NOBODYS_HASH = sha256(mintSecret())
