// The MX port over the app in a box, messages that were delivered, and the reports that come back on them.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import { TestClient } from '../../smtp/server/client.fixture.ts'
import { encodeToken } from '../../mail/address/verp.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { idToBytes } from '../../platform/ids.ts'
import { loadTlsIdentity } from '../../platform/tls.ts'
import type { World } from '../../platform/world.ts'
import { returnPath } from '../../sending/delivery/return-path.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { theBox } from '../../../test/support/box.ts'
import { operatorAccounts } from '../../operator-account.ts'
import { Gate } from '../../sending/messages/gate.ts'
import { Postmaster } from '../postmaster/take.ts'
import { Arrivals } from './arrivals.ts'
import { MxServer, type MxOptions } from './server.ts'

export interface Mx {
  world: World
  port: number
  logLines: string[]
  /** Connected and greeted. */
  client(): Promise<TestClient>
  /** A message from the null sender, as reports are; the reply to it. */
  report(to: string | string[], lines: readonly string[], from?: string): Promise<string>
}

export async function anMx(t: TestContext, options: Partial<MxOptions> = {}): Promise<Mx> {
  const box = await theBox()
  const { world } = box.app
  const tls = await loadTlsIdentity(world.config, world.clock)
  const arrivals = new Arrivals(world)
  const server = new MxServer({
    world,
    tls,
    arrivals,
    postmaster: new Postmaster(world, { gate: new Gate(world), arrivals, operator: operatorAccounts(world) }),
    ...options,
    limits: { closeMs: 50, sweepMs: 10, ...options.limits },
  })
  const port = await server.listen()
  t.after(() => server.close())
  const client = async (): Promise<TestClient> => {
    const session = await TestClient.open(t, port)
    await session.hello()
    return session
  }
  return {
    world,
    port,
    logLines: box.logLines,
    client,
    report: async (to, lines, from = '') => {
      const session = await client()
      return session.send(lines.map(line => `${line}\r\n`).join(''), { from, to: [to].flat() })
    },
  }
}

export interface Delivered {
  account: TestAccount
  id: string
  /** The return path of the recipient at this place. */
  bounceAddress(n?: number): string
  /** The return path of a transaction that these recipients shared. */
  sharedAddress(...ns: number[]): Promise<string>
  complaintAddress(n: number): string
  statuses(): Promise<string[]>
  suppressions(): Promise<{ address: string; reason: string }[]>
  events(type: string): Promise<{ recipient: string; data: Record<string, unknown> }[]>
}

/** A message that has reached all its recipients. */
export async function aDeliveredMessage(to: string[] = ['jane@example.com']): Promise<Delivered> {
  const account = await anAccount({ sandbox: true })
  const { db, secrets } = account.box.app.world
  const sent = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'hello@acme.example',
    to,
    text: 'Hello',
  })
  assert.equal(sent.status, 202)
  const id: string = sent.body.message_id
  const statuses = async () => {
    const rows = await db.many<{ status: string }>(
      sql`select status from deliveries where message_id = ${id} order by n limit 100`,
    )
    return rows.map(({ status }) => status)
  }
  await eventually('delivery', async () => (await statuses()).every(status => status === 'delivered'))
  return {
    account,
    id,
    statuses,
    bounceAddress: (n = 0) => returnPath(secrets, id, { n }, 'bounce.acme.example'),
    sharedAddress: async (...ns) => {
      const envelope = randomInt(2 ** 31)
      await db.transact(system('test'), tx =>
        tx.run(
          sql`update deliveries set envelope = ${envelope} where message_id = ${id} and n = any(${ns}::integer[])`,
        ),
      )
      return returnPath(secrets, id, { envelope }, 'bounce.acme.example')
    },
    complaintAddress: n =>
      `${encodeToken({ kind: 'c', id: idToBytes(id), extra: n }, secrets.keyOf('return-path'))}@bounce.sluice.test`,
    suppressions: () =>
      db.many(
        sql`select address, reason from suppressions where account_id = ${account.id} order by address limit 100`,
      ),
    events: type =>
      db.many(sql`
        select recipient, data from events where message_id = ${id} and type = ${type} order by id limit 100`),
  }
}
