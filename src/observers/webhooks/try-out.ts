// Pushing a sample event at once, for somebody who is setting an endpoint up.
import type { Actor } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { presentEvent } from '../events/present.ts'
import type { Named } from '../../platform/principal.ts'
import type { GuardedHttp } from '../../platform/net/guarded-http.ts'
import { requireEndpoint } from './queries.ts'
import { pushHeaders, signingKeys } from './signature.ts'

/** Not among the types of the journal, so no receiver takes a sample for something that happened. */
const SAMPLE_TYPE = 'test'
const SAMPLE_ID = 0

export async function tryOut(world: World, by: Actor, { reach, id, client }: Named & { client: GuardedHttp }) {
  const endpoint = await requireEndpoint(world.db, reach, id)
  const now = world.clock.now()
  const sample = presentEvent({
    id: SAMPLE_ID,
    type: SAMPLE_TYPE,
    account_id: endpoint.account_id,
    tenant_id: endpoint.tenant_id,
    message_id: null,
    recipient: null,
    inbox_id: null,
    created_at: now,
    data: { test: true },
  })
  const body = JSON.stringify(sample)
  const keys = signingKeys(world.secrets, endpoint, now)
  const headers = pushHeaders({ type: SAMPLE_TYPE, id: SAMPLE_ID, attempt: 1, body, keys, now })
  const result = await client.push({ url: new URL(endpoint.url), headers, body })
  await world.db.transact(by, async tx =>
    tx.audit({
      accountId: reach.accountId,
      tenantId: endpoint.tenant_id,
      target: { type: 'webhook', id },
      after: { response_status: result.responseStatus, error: result.error },
    }),
  )
  return result
}
