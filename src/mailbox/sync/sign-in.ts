// Signing in at the provider: a token that it refuses is refreshed once, at once.
import type { AccessTokens, Grant } from '../connections/tokens.ts'
import { ImapSession, ProviderFault, type ImapServer } from './imap.ts'

export type Tokens = Pick<AccessTokens, 'current' | 'refused'>

/** Throws `GrantGone` where the provider grants nothing any more. */
export async function signIn(
  tokens: Tokens,
  server: ImapServer,
  inboxId: string,
): Promise<{ imap: ImapSession; grant: Grant }> {
  const grant = await tokens.current(inboxId)
  try {
    return { imap: await ImapSession.connect(server, grant), grant }
  } catch (err) {
    if (!(err instanceof ProviderFault) || err.kind !== 'refused') throw err
    await tokens.refused(inboxId, grant.accessToken)
    const fresh = await tokens.current(inboxId)
    return { imap: await ImapSession.connect(server, fresh), grant: fresh }
  }
}
