// Handlers of /v1/messages.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { KeyPrincipal, Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { normaliseAddress } from '../../mail/address/address.ts'
import { atOnce, type AtOnce } from '../../platform/fairness/at-once.ts'
import { getMessageEndpoint, listMessagesEndpoint, sendEndpoint } from './contract.ts'
import type { SendRequest } from './send-schema.ts'
import type { Gate } from './gate.ts'
import { keyInHeader } from './idempotency.ts'
import { prepareLarge, prepareSmall } from './prepare.ts'
import { listMessages, requireMessage } from './read-queries.ts'
import { recipientsMaxOf, tenantDisabled } from './decide.ts'
import { RECIPIENTS_MAX } from './limits.ts'
import { isSmall, recipientCount } from './size.ts'
import type { Submission } from './submission.ts'

/**
 * Large messages between their preparation and their commit: each costs several times its size there, and those that wait
 * cost what was sent. More would not be accepted sooner, for the gate takes them one batch after the other; two of one
 * account kept the cores from everybody else.
 */
const LARGE_AT_ONCE = {
  permits: 6,
  perOwner: 1,
  refusal: 'Too many large messages of this account wait to be accepted.',
}
/** So few are parsed in the time that asking for the tenant's limit takes. */
const RECIPIENTS_UNASKED_MAX = 100

export const messageRoutes = (world: World, gate: Gate, publicUrl: () => string): Route[] => {
  const sending = { gate, publicUrl, largeAtOnce: atOnce(LARGE_AT_ONCE) }
  return [sendRoute(world, sending), ...readRoutes(world)]
}

const sendRoute = (
  world: World,
  { gate, publicUrl, largeAtOnce }: { gate: Gate; publicUrl: () => string; largeAtOnce: AtOnce },
): Route =>
  route(sendEndpoint, async ({ by, caller, body, headers }) => {
    const tenantId = tenantOf(caller, body.tenant_id)
    const { accountId } = caller.reach
    const prepare = async (): Promise<Submission> => {
      const idempotencyKey = idempotencyKeyOf(keyInHeader(headers['idempotency-key']), body.idempotency_key)
      const recipientsMax = await recipientsMaxFor(world, { reach: caller.reach, tenantId }, body)
      const order = { body, accountId, tenantId, apiKeyId: caller.keyId, idempotencyKey, recipientsMax, by }
      const whole = { ...order, now: world.clock.now(), publicUrl: publicUrl() }
      if (isSmall(body)) return prepareSmall(whole).submission
      const { submission } = await prepareLarge(world, whole, [accountId, tenantId])
      // They are decoded, and the request lasts until it is answered: 33 MB that nobody reads again.
      for (const attachment of body.attachments ?? []) attachment.content = ''
      return submission
    }
    const submit = async () => gate.submit(await afterTenant(world, { reach: caller.reach, tenantId }, prepare))
    return reply(202, isSmall(body) ? await submit() : await largeAtOnce(accountId, submit, tenantId))
  })

/**
 * With many recipients the tenant's own limit is looked up first: what it forbids would otherwise be parsed and composed,
 * and would delay somebody's large message in the gate.
 */
async function recipientsMaxFor(world: World, whose: { reach: Reach; tenantId: string }, body: SendRequest) {
  if (recipientCount(body) <= RECIPIENTS_UNASKED_MAX) return RECIPIENTS_MAX
  const tenant = await requireTenantInReach(world.db, whose.reach, whose.tenantId)
  if (tenant.status === 'disabled') throw tenantDisabled()
  return recipientsMaxOf(tenant)
}

const readRoutes = (world: World): Route[] => [
  route(listMessagesEndpoint, async ({ caller, query }) => {
    if (query.tenant_id !== undefined) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
    const filter = {
      tenantId: query.tenant_id ?? null,
      recipient: normalised(query.recipient),
      from: normalised(query.from),
      status: query.status ?? null,
      since: dateOf(query.since),
      until: dateOf(query.until),
      before: dateOf(query.before),
    }
    const { rows, next_cursor } = await readPage(world.secrets, 'messages', query, keyset =>
      listMessages(world.db.lists, caller.reach, { ...filter, ...keyset }),
    )
    return reply(200, { messages: rows, next_cursor })
  }),
  route(getMessageEndpoint, async ({ caller, params }) =>
    reply(200, await requireMessage(world.db, caller.reach, params.id)),
  ),
]

/**
 * That a tenant cannot send at all is said before what is wrong with the message. The gate asks it of all that
 * gets there; what does not is asked here.
 */
async function afterTenant<T>(
  world: World,
  whose: { reach: Reach; tenantId: string },
  prepare: () => T | Promise<T>,
): Promise<T> {
  try {
    return await prepare()
  } catch (refusal) {
    const { status } = await requireTenantInReach(world.db, whose.reach, whose.tenantId)
    throw status === 'disabled' ? tenantDisabled() : refusal
  }
}

/** A bound key sends for its own tenant; naming another finds no such tenant. */
function tenantOf(caller: KeyPrincipal, wanted: string | undefined): string {
  const own = caller.reach.tenantId
  if (own === null) {
    if (wanted === undefined) throw refuse('invalid_request', 'tenant_id is required with an account-wide key.')
    return wanted.toLowerCase()
  }
  if (wanted !== undefined && wanted.toLowerCase() !== own) throw notFound('tenant')
  return own
}

function idempotencyKeyOf(header: string | undefined, field: string | undefined): string | null {
  if (header !== undefined && field !== undefined && header !== field) {
    throw refuse('invalid_request', 'Idempotency-Key and idempotency_key differ.')
  }
  return header ?? field ?? null
}

const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text))

const normalised = (text: string | undefined): string | null => (text === undefined ? null : normaliseAddress(text))
