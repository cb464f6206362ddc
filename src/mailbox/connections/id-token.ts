// Whose mailbox it is, by the id_token. It came over TLS from the token endpoint itself, for a code that only we could
// exchange, so its claims are checked and its signature is not (OpenID Connect Core §3.1.3.7, step 6).
import { parseAddressOnly } from '../../mail/address/address.ts'
import type { Provider } from './providers.ts'

/** The clock of a provider may be off by so much. */
const SKEW_MS_MAX = 300_000

/** The token is not the one that was asked for; the message says why, for the log. */
export class InvalidIdToken extends Error {}

/** The address of the mailbox in lower case. */
export function addressIn(idToken: string, provider: Provider, { nonce, now }: { nonce: string; now: Date }): string {
  const claims = claimsOf(idToken)
  const check = (isRight: boolean, what: string): void => {
    if (!isRight) throw new InvalidIdToken(what)
  }
  check(isIssuer(claims['iss'], provider), 'it is from another issuer')
  check(isAudience(claims, provider.clientId), 'it is for another client')
  check(claims['nonce'] === nonce, 'it answers another request')
  check(Number(claims['exp']) * 1000 > now.getTime() - SKEW_MS_MAX, 'it has expired')
  // Microsoft leaves it out for accounts without a licence for mail, and names them by their sign-in address.
  const email = claims['email'] ?? (provider.name === 'microsoft' ? claims['preferred_username'] : undefined)
  check(claims['email_verified'] !== false, 'its address is not verified')
  const address = typeof email === 'string' && email.length <= 320 ? parseAddressOnly(email) : null
  if (!address) throw new InvalidIdToken('it has no address')
  return address.address.toLowerCase()
}

function claimsOf(idToken: string): Record<string, unknown> {
  try {
    const [, payload, , rest] = idToken.split('.')
    const claims: unknown = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString('utf8'))
    if (rest === undefined && typeof claims === 'object' && claims !== null) return claims as Record<string, unknown>
  } catch {
    // Answered below.
  }
  throw new InvalidIdToken('it is no JSON Web Token')
}

/** Google writes its name with and without `https://`; at Microsoft each organisation has a path of its own. */
function isIssuer(iss: unknown, { authUrl, tokenUrl, issuerOrigin }: Provider): boolean {
  if (typeof iss !== 'string') return false
  const url = iss.includes('://') ? iss : `https://${iss}`
  if (!URL.canParse(url)) return false
  return [issuerOrigin, new URL(authUrl).origin, new URL(tokenUrl).origin].includes(new URL(url).origin)
}

/** With several, the one that it was issued to must be named as well. */
const isAudience = ({ aud, azp }: Record<string, unknown>, clientId: string): boolean =>
  Array.isArray(aud) ? aud.includes(clientId) && (aud.length === 1 || azp === clientId) : aud === clientId
