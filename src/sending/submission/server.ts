// SMTP submission (RFC 6409): customers' programs log in with an SMTP credential and submit messages, which pass the
// same gate as those of the API. 250 means that every recipient is durably stored.
import { parseAddressOnly, type Address } from '../../mail/address/address.ts'
import type { Admission, ReceivedMail, SmtpClient, SmtpLimits } from '../../smtp/server/door.ts'
import { SmtpListener } from '../../smtp/server/listener.ts'
import type { LoginAttempt } from '../../smtp/server/login.ts'
import { isLoopback } from '../../platform/net/address-guard.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { TlsIdentity } from '../../platform/tls.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../messages/gate.ts'
import { prepareSubmission } from './preparation.ts'
import type { SmtpPrincipal } from '../../identity/smtp-credentials/authenticate.ts'
import type { Submission } from '../messages/submission.ts'
import { replyFor } from './reply.ts'

/** Who decides about logins, counts the failed ones and limits them. */
export interface LoginKeeper {
  authenticate(attempt: { username: string; password: string; ip: string }): Promise<SmtpPrincipal>
}

export interface SubmissionOptions {
  world: World
  gate: Pick<Gate, 'submit'>
  authenticator: LoginKeeper
  tls: TlsIdentity
  limits?: Partial<SmtpLimits>
  /** Whose login is taken in clear text; by default only this machine's own. */
  trustsClearText?: (ip: string) => boolean
}

/** 35 MiB: attachments of 25 MB in base64 with their line breaks, and the text. */
const SUBMISSION_BYTES_MAX = 36_700_160
const RECIPIENTS_MAX = 1_000

/** A login with what it was made from, so that it can be looked at again. */
interface HeldLogin {
  login: SmtpPrincipal
  attempt: LoginAttempt
}

export class SubmissionServer {
  readonly #options: SubmissionOptions
  readonly #listener: SmtpListener<HeldLogin, Address>

  constructor(options: SubmissionOptions) {
    const { world, tls, limits, trustsClearText = isLoopback } = options
    this.#options = options
    this.#listener = new SmtpListener<HeldLogin, Address>(
      {
        host: world.config.MX_HOST,
        sizeMax: SUBMISSION_BYTES_MAX,
        recipientsMax: RECIPIENTS_MAX,
        tls,
        trustsClearText,
        authenticate: (attempt, client) => this.#authenticate(attempt, client),
        ownerOf: ({ login }) => login.accountId,
        tenantOf: ({ login }) => login.tenantId,
        admit,
        receive: mail => this.#receive(mail),
        onFault: (err, { id, ip }) => world.log.error({ err, session: id, ip }, 'an SMTP submission failed'),
      },
      limits,
    )
  }

  /** Answers with the port. */
  listen(): Promise<number> {
    const { SMTP_PORT, HOST } = this.#options.world.config
    return this.#listener.listen({ port: SMTP_PORT, host: HOST })
  }

  close(): Promise<void> {
    return this.#listener.close()
  }

  async #authenticate(attempt: LoginAttempt, { ip }: SmtpClient): Promise<{ login: HeldLogin } | string> {
    try {
      const login = await this.#options.authenticator.authenticate({ ...attempt, ip })
      return { login: { login, attempt } }
    } catch (error) {
      return replyOrThrow(error)
    }
  }

  async #receive(mail: ReceivedMail<HeldLogin, Address>): Promise<string> {
    try {
      if (!(await this.#isStillValid(mail.login!.attempt, mail.client))) return '421 4.7.0 Log in again'
      const { message_id } = await this.#options.gate.submit(await this.#prepare(mail))
      return `250 2.0.0 Accepted as ${message_id}`
    } catch (error) {
      return replyOrThrow(error)
    }
  }

  /**
   * Not in the function that waits for the gate: that would keep the message as it came in memory beside the new one.
   */
  #prepare({ login, takeSource, ...mail }: ReceivedMail<HeldLogin, Address>): Promise<Submission> {
    const { config, clock, threads } = this.#options.world
    return prepareSubmission(threads, {
      ...mail,
      login: login!.login,
      source: takeSource(),
      host: config.MX_HOST,
      now: clock.now(),
    })
  }

  /**
   * A connection may stay open for days. A credential that was deleted or rotated meanwhile must not go on sending, so
   * it is looked at for each message; concurrent ones share the look-up.
   */
  async #isStillValid(attempt: LoginAttempt, { ip }: SmtpClient): Promise<boolean> {
    try {
      await this.#options.authenticator.authenticate({ ...attempt, ip })
      return true
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'unavailable') return false
      throw error
    }
  }
}

function replyOrThrow(error: unknown): string {
  const reply = replyFor(error)
  if (reply === null) throw error
  return reply
}

function admit(path: string): Admission<Address> {
  const recipient = parseAddressOnly(path)
  return recipient ? { kind: 'admitted', recipient } : { kind: 'refused', reply: '553 5.1.3 Not a valid address' }
}
