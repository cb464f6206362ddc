// OAuth 2.0 with a provider: the authorisation request with PKCE (RFC 7636), the exchange of a code, refresh, revocation.
// Answers come from a network: they are bounded, and everything in them is checked.
import { createHash } from 'node:crypto'
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import type { Answer } from '../../platform/net/operator-http.ts'
import { postForm } from '../../platform/net/post-form.ts'
import type { Provider } from './providers.ts'

const REQUEST_MS_MAX = 10_000
const REVOKE_MS_MAX = 3_000
/** Real answers have a few kilobytes. */
const ANSWER_BYTES_MAX = 64 * 1024
/** Each by itself; a token is sent in one line of IMAP or SMTP. */
const TOKEN_CHARS_MAX = 8 * 1024
/** For a provider that does not say how long a token is good for. */
const LIFETIME_SECONDS = 600
const LIFETIME_SECONDS_MAX = 86_400
const CALLS_AT_ONCE = { permits: 16, perOwner: 8, waitMsMax: 20_000 }

const calls = new Semaphore(CALLS_AT_ONCE)

export interface Tokens {
  accessToken: string
  /** Null: the one that was used stays good. */
  refreshToken: string | null
  expiresInSeconds: number
  idToken: string | null
}

/** The provider says that the code or the grant is worth nothing (RFC 6749 §5.2). */
export class InvalidGrant extends Error {}

/** No usable answer, or one that is about us and not about the grant: another time it may be better. */
export class OAuthFault extends Error {
  readonly retryAfterSeconds: number | null

  constructor(message: string, options: { cause?: unknown; retryAfterSeconds?: number | null } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }
}

/** Where the browser of the admin is sent. */
export function authUrlOf(
  provider: Provider,
  { state, nonce, verifier, redirectUri }: { state: string; nonce: string; verifier: string; redirectUri: string },
): string {
  const url = new URL(provider.authUrl)
  const parameters = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri,
    scope: provider.scopes.join(' '),
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...provider.authParameters,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

export const exchangeCode = (
  provider: Provider,
  { code, verifier, redirectUri, owner }: { code: string; verifier: string; redirectUri: string; owner: string },
): Promise<Tokens> =>
  askForTokens(provider, owner, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  })

export const refreshTokens = (provider: Provider, refreshToken: string, owner: string): Promise<Tokens> =>
  askForTokens(provider, owner, { grant_type: 'refresh_token', refresh_token: refreshToken })

/** Answers what kept it from being done; null when it was. */
export async function revokeToken({ revokeUrl, clientId, clientSecret }: Provider, token: string): Promise<unknown> {
  if (revokeUrl === null) return null
  const form = { token, token_type_hint: 'refresh_token', client_id: clientId, client_secret: clientSecret }
  try {
    const bounds = { timeoutMs: REVOKE_MS_MAX, answerBytesMax: ANSWER_BYTES_MAX }
    const { status } = await postForm(revokeUrl, { form, ...bounds })
    return status < 300 ? null : new Error(`the provider answered ${status}`)
  } catch (error) {
    return error
  }
}

async function askForTokens(provider: Provider, owner: string, grant: Record<string, string>): Promise<Tokens> {
  const { clientId: client_id, clientSecret: client_secret, tokenUrl } = provider
  const form = { ...grant, client_id, client_secret }
  const bounds = { timeoutMs: REQUEST_MS_MAX, answerBytesMax: ANSWER_BYTES_MAX }
  const tooMany = () => new OAuthFault('too many requests to the provider are under way')
  const answer = await calls.run(owner, tooMany, async () => {
    try {
      return await postForm(tokenUrl, { form, ...bounds })
    } catch (error) {
      throw new OAuthFault('the provider could not be asked', { cause: error })
    }
  })
  const fields = fieldsOf(answer)
  if (answer.status !== 200) throw failureOf(answer, fields)
  return tokensOf(fields)
}

function fieldsOf({ text }: Answer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Answered below, as anything else that is no object.
  }
  return {}
}

/** The last two are Microsoft's: a person has to agree, or to prove who they are, once more. */
const GONE = new Set(['invalid_grant', 'interaction_required', 'consent_required'])

function failureOf({ status, retryAfterSeconds }: Answer, { error }: Record<string, unknown>): Error {
  if (status < 500 && typeof error === 'string' && GONE.has(error)) return new InvalidGrant(error)
  const code = typeof error === 'string' && /^\w{1,40}$/.test(error) ? ` ${error}` : ''
  return new OAuthFault(`the provider answered ${status}${code}`, { retryAfterSeconds })
}

function tokensOf(fields: Record<string, unknown>): Tokens {
  const accessToken = tokenOf(fields['access_token'])
  if (accessToken === null) throw new OAuthFault('the provider answered without an access token')
  const lifetime = Number(fields['expires_in'] ?? LIFETIME_SECONDS)
  return {
    accessToken,
    refreshToken: tokenOf(fields['refresh_token']),
    expiresInSeconds: lifetime > 0 ? Math.min(lifetime, LIFETIME_SECONDS_MAX) : LIFETIME_SECONDS,
    idToken: typeof fields['id_token'] === 'string' ? fields['id_token'] : null,
  }
}

/** Visible ASCII (RFC 6749 §A.12): nothing that could end a line of the protocols it is sent in. */
const tokenOf = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= TOKEN_CHARS_MAX && /^[!-~]+$/.test(value) ? value : null
