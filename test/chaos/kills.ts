// Two server processes and PostgreSQL under load, killed at random moments, while pauses come and go and a webhook is told
// everything. Afterwards the books: nothing acknowledged is lost, every delivery ended in one state, holds balance.
import { setTimeout as delay } from 'node:timers/promises'
import { checkBooks } from './books.ts'
import { aReceiver } from './receiver.ts'
import type { Chaos } from './run.ts'
import type { Server } from '../support/server-process.ts'
import { aSender, aSite, type Sender } from './site.ts'

const CLIENTS = 12
/** Every so many messages may be purged by a pause. */
const PURGED_EVERY = 20

export interface Load {
  /** Recipient to message id. */
  acknowledged: Map<string, string>
  attempts: number
  isOver: boolean
}

export async function runKills({ rounds, random }: Chaos): Promise<string[]> {
  const site = await aSite()
  const servers = [await site.aServer(), await site.aServer()]
  await Promise.all(servers.map(server => server.start()))
  const sender = await aSender(servers[0]!)
  const receiver = await aReceiver(random)
  const hook = await sender.post(servers[0]!, '/v1/webhooks', { url: receiver.url })
  if (hook.status !== 201) throw new Error(`the webhook was refused: ${JSON.stringify(hook.body)}`)
  const load: Load = { acknowledged: new Map(), attempts: 0, isOver: false }
  const clients = Array.from({ length: CLIENTS }, (_, client) => drive(client, load, servers, sender))
  const pauser = pauseAndResume(load, servers, sender, random)
  for (let round = 1; round <= rounds; round++) {
    await delay(1_000 + random(2_000))
    const victim = random(5)
    if (victim === 0) await site.killPostgres()
    else await servers[victim % 2]!.kill()
    const name = victim === 0 ? 'PostgreSQL' : `server ${(victim % 2) + 1}`
    console.log(`round ${round}: killed ${name}, ${load.acknowledged.size} acknowledged`)
    await Promise.all(servers.map(server => server.start()))
  }
  await delay(1_000)
  load.isOver = true
  await Promise.all([...clients, pauser])
  console.log(`${load.acknowledged.size} acknowledged of ${load.attempts} attempts; waiting for the queue to drain`)
  const faults = await checkBooks({
    site,
    load,
    receiver,
    kills: rounds,
    accountId: sender.accountId,
    url: servers[0]!.url,
  })
  await site.close()
  await receiver.close()
  return faults
}

/** Sends with a key of its own until it is told that the message is in, whatever breaks meanwhile. */
export async function drive(client: number, load: Load, servers: readonly Server[], sender: Sender): Promise<void> {
  for (let n = 0; !load.isOver; n++) {
    const recipient = `c${client}-${n}@d${n % 7}.example`
    const body = {
      tenant_id: sender.tenantId,
      from: 'a@chaos.sluice.test',
      to: [recipient],
      text: 'x',
      tags: n % PURGED_EVERY === 0 ? ['purged'] : [],
      idempotency_key: recipient,
    }
    for (let tries = 0; ; tries++) {
      load.attempts += 1
      const reply = await sender.post(servers[(client + tries) % 2]!, '/v1/messages', body).catch(() => null)
      if (reply?.status === 202) {
        load.acknowledged.set(recipient, reply.body.message_id)
        break
      }
      if (reply && reply.status < 500 && reply.status !== 401) throw new Error(`unexpected: ${JSON.stringify(reply)}`)
      await delay(50)
    }
  }
}

/** Pauses the tenant, the account or a tag for a moment, over and over; in the end nothing is paused. */
async function pauseAndResume(
  load: Load,
  servers: readonly Server[],
  sender: Sender,
  random: Chaos['random'],
): Promise<void> {
  const scopes = [
    { scope: { scope_type: 'tenant', scope_value: sender.tenantId }, action: 'release' },
    { scope: { scope_type: 'account', scope_value: sender.accountId }, action: 'release' },
    { scope: { scope_type: 'rule', scope_value: 'tag:purged' }, action: 'purge' },
  ]
  const insist = async (path: string, body: object): Promise<{ id: string }> => {
    for (let tries = 0; ; tries++) {
      const reply = await sender.post(servers[tries % 2]!, path, body).catch(() => null)
      if (reply && reply.status < 300) return reply.body
      await delay(50)
    }
  }
  while (!load.isOver) {
    const { scope, action } = scopes[random(scopes.length)]!
    const { id } = await insist('/v1/suspensions', scope)
    await delay(random(600))
    await insist(`/v1/suspensions/${id}/resume`, { action })
    await delay(random(600))
  }
}
