// The way out of a connected mailbox: the SMTP server of its provider, with a token that is good now.
import { isUnavailable } from '../../platform/db/errors.ts'
import type { World } from '../../platform/world.ts'
import { DISCONNECTED, type Relays, type WayOut } from '../../sending/relay/relays.ts'
import type { Relay } from '../../smtp/client/transport.ts'
import { providersOf, type Provider } from './providers.ts'
import { findConnection } from './queries.ts'
import { GrantGone, type AccessTokens, type Grant } from './tokens.ts'

/** Of one mailbox in one process. Microsoft takes three, and the person may have other programs. */
const CONNECTIONS_MAX = 2
/** Where encryption is agreed on after the greeting (RFC 3207, RFC 6409); elsewhere it comes first (RFC 8314). */
const STARTTLS_PORTS = new Set([25, 587, 2525, 2587])

const GRANT_GONE = 'The mailbox must be connected again: its provider has ended the grant.'
const NOT_CONFIGURED = 'The provider of the mailbox is not configured on this installation.'
const NO_TOKEN = 'The provider of the mailbox could not be asked for an access token.'

type Tokens = Pick<AccessTokens, 'current' | 'refused'>

export const providerRelays = (world: World, tokens: Tokens): Relays => ({
  wayOut: (inboxId, sender) => wayOut(world, tokens, { inboxId, sender }),
  refused: (inboxId, accessToken) => tokens.refused(inboxId, accessToken),
})

async function wayOut(
  world: World,
  tokens: Tokens,
  { inboxId, sender }: { inboxId: string; sender: string },
): Promise<WayOut> {
  const connection = await findConnection(world.db, inboxId)
  // Another mailbox must not send what was written from this one.
  if (connection?.address !== sender.toLowerCase()) return { kind: 'ended', reason: DISCONNECTED }
  const provider = providersOf(world.config)[connection.provider]
  if (!provider) return { kind: 'closed', reason: NOT_CONFIGURED }
  try {
    const grant = await tokens.current(inboxId)
    if (grant.address !== connection.address) return { kind: 'closed', reason: NO_TOKEN }
    return { kind: 'open', relay: relayOf(provider, inboxId, grant) }
  } catch (error) {
    if (isUnavailable(error)) throw error
    return { kind: 'closed', reason: error instanceof GrantGone ? GRANT_GONE : NO_TOKEN }
  }
}

const relayOf = (
  { smtp: { host, port, secure } }: Provider,
  inboxId: string,
  { address, accessToken, generation }: Grant,
): Relay => ({
  // Under another grant the connections of this one serve no more.
  key: `relay ${inboxId} ${generation}`,
  host,
  port,
  security: !secure ? 'clear' : STARTTLS_PORTS.has(port) ? 'starttls' : 'implicit',
  user: address,
  accessToken,
  connectionsMax: CONNECTIONS_MAX,
})
