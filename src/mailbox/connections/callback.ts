// The second half of connecting: the provider sends the admin's browser back. The state is taken once; the code becomes
// tokens outside any transaction; then inbox and connection change together. Whatever goes wrong behind a good state is told
// in the console, to which the browser is sent.
import { listLiveKeys } from '../../identity/api-keys/live.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { changeProvider } from '../inboxes/update.ts'
import { auditIn, lockInboxes } from '../inboxes/lock.ts'
import { redirectUriOf } from './authorize.ts'
import { revokeGrant } from './disconnect.ts'
import { addressIn, InvalidIdToken } from './id-token.ts'
import { exchangeCode, InvalidGrant, OAuthFault, type Tokens } from './oauth.ts'
import { providersOf } from './providers.ts'
import { deleteConnectionRow, findConnectionForUpdate, nextGeneration, takeState, upsertConnection } from './queries.ts'
import { sealToken } from './seal.ts'
import { openContent, readState, type StateContent } from './state.ts'

interface Returned {
  state: string
  code?: string
  /** The provider's word for why there is no code. */
  error?: string
}

type TakenState = NonNullable<Awaited<ReturnType<typeof takeState>>>

/** Why nothing was connected, for the console. */
type Obstacle =
  | 'access_denied'
  | 'provider_error'
  | 'provider_unavailable'
  | 'invalid_code'
  | 'invalid_id_token'
  | 'no_refresh_token'
  | 'not_configured'
  | 'inbox_gone'
  | 'key_revoked'
  | 'already_connected'

class Obstructed extends Error {
  readonly obstacle: Obstacle

  constructor(obstacle: Obstacle) {
    super(obstacle)
    this.obstacle = obstacle
  }
}

/** Null: a fault of ours. */
function obstacleIn(error: unknown): Obstacle | null {
  if (error instanceof Obstructed) return error.obstacle
  if (error instanceof InvalidGrant) return 'invalid_code'
  if (error instanceof OAuthFault) return 'provider_unavailable'
  return error instanceof InvalidIdToken ? 'invalid_id_token' : null
}

/** Answers where the browser goes next. */
export async function finishConnecting(
  world: World,
  publicUrl: string,
  by: Actor,
  returned: Returned,
): Promise<string> {
  const state = await takeStateOf(world, by, returned.state)
  const page = `${world.config.WEB_APP_URL ?? publicUrl}/inboxes/${state.inbox_id}`
  try {
    await connect(world, publicUrl, { by, returned, state })
    return `${page}?connected=${state.provider}`
  } catch (error) {
    const obstacle = obstacleIn(error)
    if (obstacle === null) throw error
    const reason = error instanceof Error &&
      !(error instanceof Obstructed) && { reason: error.message, err: error.cause }
    world.log.warn(
      { inbox_id: state.inbox_id, provider: state.provider, obstacle, ...reason },
      'a mailbox was not connected',
    )
    return `${page}?connect_error=${obstacle}`
  }
}

async function takeStateOf(world: World, by: Actor, text: string): Promise<TakenState> {
  const id = readState(world.secrets, text)
  const state = id === null ? null : await world.db.transact(by, tx => takeState(tx, id))
  if (!state)
    throw refuse('invalid_request', 'The state is invalid or has expired. Begin to connect the mailbox again.')
  return state
}

interface Attempt {
  by: Actor
  returned: Returned
  state: TakenState
}

async function connect(world: World, publicUrl: string, { by, returned, state }: Attempt): Promise<void> {
  const { code, error } = returned
  if (error !== undefined || code === undefined) {
    throw new Obstructed(error === 'access_denied' ? 'access_denied' : 'provider_error')
  }
  const provider = providersOf(world.config)[state.provider]
  if (!provider) throw new Obstructed('not_configured')
  const content = openContent(world.secrets, state.id, state.content)
  const tokens = await exchangeCode(provider, {
    code,
    verifier: content.verifier,
    redirectUri: redirectUriOf(publicUrl),
    owner: state.account_id,
  })
  const address = addressIn(tokens.idToken ?? '', provider, { nonce: content.nonce, now: world.clock.now() })
  if (tokens.refreshToken === null) throw new Obstructed('no_refresh_token')
  const grant = { address, tokens, refreshToken: tokens.refreshToken }
  try {
    await store(world, { by: asked(by, content), content, state, grant })
  } catch (failure) {
    // A grant that leads nowhere is given back.
    await revokeGrant(world, { ...state, address }, grant.refreshToken)
    throw failure
  }
  world.wakeups.hint('connections')
}

/** A key that was revoked or rotated meanwhile connects nothing: it may have been somebody else's, who has the URL. */
const isStillIn = async (tx: Tx, { by: { id }, prefix }: StateContent): Promise<boolean> =>
  id === null || (await listLiveKeys(tx, { ids: [id], now: tx.now })).some(key => key.prefix === prefix)

/** The browser has no key: what it finishes, the caller of the first half did, from the browser's address. */
const asked = (by: Actor, { by: { type, id, name } }: StateContent): Actor => ({ ...by, type, id, name })

interface Storing {
  by: Actor
  content: StateContent
  state: TakenState
  grant: { address: string; tokens: Tokens; refreshToken: string }
}

function store(world: World, { by, content, state, grant }: Storing): Promise<void> {
  const { inbox_id: inboxId, account_id, tenant_id, provider } = state
  const { address, tokens, refreshToken } = grant
  return world.db.transact(by, async tx => {
    if (!(await isStillIn(tx, content))) throw new Obstructed('key_revoked')
    const [inbox] = await lockInboxes(tx, [inboxId])
    if (!inbox) throw new Obstructed('inbox_gone')
    const before = await findConnectionForUpdate(tx, inboxId)
    const isSame = before?.provider === provider && before.address === address
    if (before && !isSame) {
      if (before.refresh_token !== null) throw new Obstructed('already_connected')
      // Another mailbox: nothing that is known of the last one holds for it.
      await deleteConnectionRow(tx, inboxId)
    }
    const generation = await nextGeneration(tx)
    const seal = (kind: 'refresh' | 'access', token: string): Buffer =>
      sealToken(world.secrets, { inbox_id: inboxId, generation, kind }, token)
    await upsertConnection(tx, {
      inbox_id: inboxId,
      account_id,
      tenant_id,
      provider,
      address,
      refresh_token: seal('refresh', refreshToken),
      access_token: seal('access', tokens.accessToken),
      access_expires_at: new Date(tx.now.getTime() + tokens.expiresInSeconds * 1000),
      generation,
    })
    await changeProvider(tx, inboxId, provider)
    auditIn(tx, inbox, {
      before: { provider: inbox.provider, address: before?.address ?? null },
      after: { provider, address },
    })
  })
}
