// Signing in at the provider: a token that it refuses is refreshed once, at once.
import type { AccessTokens, Grant } from '../connections/tokens.ts'
import { ImapSession, ProviderFault, type ImapServer } from './imap.ts'

export type Tokens = Pick<AccessTokens, 'current' | 'refused'>

/** Throws `GrantGone` where the provider grants nothing any more. */
export async function signIn(
  tokens: Tokens,
  server: ImapServer,
  { inboxId, withPermit }: { inboxId: string; withPermit: <T>(act: () => Promise<T>) => Promise<T> },
): Promise<{ imap: ImapSession; grant: Grant }> {
  const grant = await withPermit(() => tokens.current(inboxId))
  try {
    return { imap: await ImapSession.connect(server, grant), grant }
  } catch (err) {
    if (!(err instanceof ProviderFault) || err.kind !== 'refused') throw err
    const fresh = await withPermit(async () => {
      await tokens.refused(inboxId, grant.accessToken)
      return tokens.current(inboxId)
    })
    return { imap: await ImapSession.connect(server, fresh), grant: fresh }
  }
}
