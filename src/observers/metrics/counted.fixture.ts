// For tests of what is counted: reading the journal to its end, and things that happened.
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { readTailOnce } from '../../platform/work/tail.ts'
import { eventually, type TestAccount } from '../../../test/support/factories.ts'
import type { Box } from '../../../test/support/box.ts'
import { NOTHING, type Counters } from './counters.ts'
import { metricsTail } from './workers.ts'

/** Returns when all that has happened so far is counted, whether by the worker of the box or by us. */
export async function counted({ app: { world } }: Box): Promise<void> {
  const { last } = await world.db.one<{ last: number }>(sql`select coalesce(max(id), 0) as last from events`)
  await eventually(`the roll-up reaches ${last}`, async () => {
    await readTailOnce(world, metricsTail)
    const tail = await world.db.one<{ cursor: number }>(sql`select cursor from tails where name = 'metrics'`)
    return tail.cursor >= last
  })
}

export interface Happening {
  type: string
  tenantId?: string | null
  messageId?: string
  data?: object
  times?: number
}

export async function happen({ box, id }: Pick<TestAccount, 'box' | 'id'>, ...happenings: Happening[]): Promise<void> {
  await box.app.world.db.transact(system('test'), async tx => {
    for (const { times = 1, ...event } of happenings) {
      for (let n = 0; n < times; n++) tx.record({ ...event, accountId: id })
    }
  })
}

/** A message that nobody delivers, in a box without a worker. */
export async function send(account: TestAccount, message: { tenantId?: string; from?: string; to?: string[] } = {}) {
  const { status, body } = await account.api.post('/v1/messages', {
    tenant_id: message.tenantId ?? account.tenant.id,
    from: message.from ?? 'hello@acme.example',
    to: message.to ?? ['someone@example.com'],
    text: 'Hello.',
  })
  if (status !== 202) throw new Error(JSON.stringify(body))
  return body.message_id as string
}

export const nothingBut = (counters: Partial<Counters>): Counters => ({ ...NOTHING, ...counters })

/** The intervals' counters added up. */
export const total = (intervals: readonly Counters[]): Counters =>
  Object.fromEntries(
    (Object.keys(NOTHING) as (keyof Counters)[]).map(name => [
      name,
      intervals.reduce((sum, interval) => sum + interval[name], 0),
    ]),
  ) as Counters
