// Signing in at the provider: a token that it refuses is refreshed once, at once.
import type { MailServer } from '../../platform/config-providers.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import { GrantGone, type AccessTokens, type Grant } from '../connections/tokens.ts'
import { ProviderFault } from '../imap/fault.ts'
import { ImapSession, type Patience } from '../imap/session.ts'

export type Tokens = Pick<AccessTokens, 'current' | 'refused'>

interface SigningIn {
  inboxId: string
  patience?: Partial<Patience> | undefined
  withPermit: <T>(act: () => Promise<T>) => Promise<T>
}

/** Throws `GrantGone` where the provider grants nothing any more. */
export async function signIn(
  tokens: Tokens,
  server: MailServer,
  { inboxId, patience, withPermit }: SigningIn,
): Promise<{ imap: ImapSession; grant: Grant }> {
  const grant = await withPermit(() => ask(() => tokens.current(inboxId)))
  try {
    return { imap: await ImapSession.connect(server, grant, patience), grant }
  } catch (err) {
    if (!(err instanceof ProviderFault) || err.kind !== 'refused') throw err
    const fresh = await withPermit(async () => {
      await tokens.refused(inboxId, grant.accessToken)
      return ask(() => tokens.current(inboxId))
    })
    return { imap: await ImapSession.connect(server, fresh, patience), grant: fresh }
  }
}

/** Where a token could not be had, the provider is tried again later, as for any fault of its own. */
async function ask(current: () => Promise<Grant>): Promise<Grant> {
  try {
    return await current()
  } catch (err) {
    if (err instanceof GrantGone || isUnavailable(err)) throw err
    throw new ProviderFault('failed', 'The provider could not be asked for a token.', err)
  }
}
