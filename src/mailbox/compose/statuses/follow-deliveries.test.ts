// Statuses of sent mail between accounts: large messages and locked inboxes of one keep nobody else's waiting, and each event
// is told once.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, test } from 'node:test'
import { aBox, type Box } from '../../../../test/support/box.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../../test/support/factories.ts'
import { system } from '../../../platform/db/actor.ts'
import { sql } from '../../../platform/db/sql.ts'
import { advanceTail, readTailOnce } from '../../../platform/work/tail.ts'
import type { World } from '../../../platform/world.ts'
import { lockInboxes } from '../../inboxes/lock.ts'
import { statusBacklog } from './backlog.ts'
import { FOLLOW_DELIVERIES, followDeliveries } from './follow-deliveries.ts'

const by = system('test')
const { signal } = new AbortController()
let box: Box
let world: World
const tail = followDeliveries()
const backlog = statusBacklog()

before(async () => {
  // Without the workers: each round and each slice is the test's.
  box = await aBox({ environment: { ROLES: 'api' } })
  world = box.app.world
  await readTailOnce(world, tail)
})

interface Mail {
  accountId: string
  tenantId: string
  inboxId: string
  id: string
  submissionId: string
}

async function aMail(account: TestAccount, inboxId: string, to = ['bob@example.com']): Promise<Mail> {
  const sent = await account.api.post(`/v1/inboxes/${inboxId}/messages`, { to, text: 'x' })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const { id, message_id: submissionId } = sent.body
  return { accountId: account.id, tenantId: account.tenant.id, inboxId, id, submissionId }
}

async function anAccountWithMail(to?: string[]): Promise<Mail & { account: TestAccount }> {
  const account = await anAccount({ box })
  return { account, ...(await aMail(account, await anInbox(account), to)) }
}

/** Ends deliveries as the sender does: out of the queue, the delivery marked, an event for each. */
const end = ({ accountId, tenantId, submissionId }: Mail, status: string, ns: readonly number[] = [0]): Promise<void> =>
  world.db.transact(by, async tx => {
    await tx.run(sql`delete from queue where message_id = ${submissionId} and n = any(${ns}::integer[])`)
    await tx.run(
      sql`update deliveries set status = ${status} where message_id = ${submissionId} and n = any(${ns}::integer[])`,
    )
    for (const n of ns) {
      tx.record({ type: status, accountId, tenantId, messageId: submissionId, recipient: `${n}@example.com` })
    }
  })

/** As many recipients as a message can have, still open. */
const enlarge = ({ submissionId }: Mail, recipients = 10_000): Promise<number> =>
  world.db.transact(by, tx =>
    tx.run(sql`
      with first as (select * from queue where message_id = ${submissionId} and n = 0), delivery as (
        insert into deliveries (message_id, n, account_id, tenant_id, recipient, kind, status, updated_at)
        select message_id, n, account_id, tenant_id, n || '@example.com', 'to', 'open', ${tx.now}
        from (select message_id, account_id, tenant_id from first) f, generate_series(1, ${recipients - 1}::integer) n)
      insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, accepted_at,
        updated_at)
      select message_id, s.n, account_id, tenant_id, s.n || '@example.com', 'example.com', 'queued', rank, accepted_at,
        updated_at
      from first, generate_series(1, ${recipients - 1}::integer) as s (n)`),
  )

const statusOf = async ({ id }: Mail): Promise<string> =>
  (await world.db.one<{ status: string }>(sql`select status from inbox_messages where id = ${id}`)).status

const toldOf = async ({ id, inboxId }: Mail): Promise<string[]> =>
  (
    await world.db.many<{ event: string }>(sql`
      select data ->> 'event' as event from events
      where inbox_id = ${inboxId} and data ->> 'message_id' = ${id} and data ? 'event' order by id`)
  ).map(({ event }) => event)

const backlogs = async (): Promise<string[]> =>
  (await world.db.many<{ account_id: string }>(sql`select account_id from mailbox_backlogs`)).map(row => row.account_id)

const follow = async (): Promise<void> => {
  while ((await advanceTail(world, tail)) > 0);
}
const takeSlices = async (): Promise<void> => {
  while ((await backlog.run(world, signal)) > 0);
}
/** Until nobody is behind the tail. Who has caught up leaves the backlog with the next round, which the next append brings. */
const settle = async (): Promise<void> => {
  await follow()
  await takeSlices()
  await follow()
  const behind = await world.db.many(sql`
    select from mailbox_backlogs b join tails t on t.name = ${FOLLOW_DELIVERIES} where b.cursor < t.cursor`)
  assert.equal(behind.length, 0)
}

/** Runs an act while another transaction has locked the inbox. */
const whileLocked = (inboxId: string, act: () => Promise<void>): Promise<void> => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
  const holder = world.db.transact(by, async tx => {
    await lockInboxes(tx, [inboxId])
    lock()
    await over
  })
  return locked.then(act).finally(() => {
    end()
    return holder
  })
}

test('while an inbox of one account is locked, the mail of other accounts moves', async () => {
  const [busy, other] = [await anAccountWithMail(), await anAccountWithMail()]
  const sibling = await aMail(busy.account, await anInbox(busy.account))
  await follow()

  await whileLocked(busy.inboxId, async () => {
    await end(sibling, 'delivered')
    await end(busy, 'delivered')
    await end(other, 'delivered')
    await follow()
    assert.equal(await statusOf(other), 'delivered')
    assert.equal(await statusOf(busy), 'queued')
    assert.deepEqual(await backlogs(), [busy.accountId])
    for (let n = 0; n < 3; n++) assert.equal(await backlog.run(world, signal), 1)
    assert.equal(await statusOf(sibling), 'delivered', 'what comes before the locked inbox is not kept waiting')
    assert.equal(await statusOf(busy), 'queued')
    await end(busy, 'complained')
    await follow()
  })

  await settle()
  assert.equal(await statusOf(busy), 'complained')
  assert.deepEqual(await toldOf(busy), ['delivered', 'complained'])
  assert.deepEqual(await toldOf(other), ['delivered'])
  assert.deepEqual(await toldOf(sibling), ['delivered'])
})

test('a round leaves an account behind whose messages have more recipients than it may look at', async () => {
  const [heavy, other] = [await anAccountWithMail(), await anAccountWithMail()]
  const mails: Mail[] = [heavy]
  for (let n = 1; n < 6; n++) mails.push(await aMail(heavy.account, heavy.inboxId))
  for (const mail of mails) await enlarge(mail)
  await follow()

  for (const mail of mails) await end(mail, 'bounced', [5])
  await end(other, 'delivered')
  await follow()

  assert.equal(await statusOf(other), 'delivered')
  assert.deepEqual(await toldOf(heavy), [])
  assert.deepEqual(await backlogs(), [heavy.accountId])
  for (const mail of mails) await end(mail, 'delivered', [9_999])
  await settle()
  for (const mail of mails) {
    assert.equal(await statusOf(mail), 'sent')
    assert.deepEqual(await toldOf(mail), ['bounced', 'delivered'])
  }
  await end(heavy, 'delivered', [1, 2])
  await follow()
  assert.deepEqual(await toldOf(heavy), ['bounced', 'delivered', 'delivered', 'delivered'])
})

test('mail of an inbox that was deleted keeps no account in the backlog', async () => {
  const gone = await anAccountWithMail()
  assert.equal((await gone.account.api.delete(`/v1/inboxes/${gone.inboxId}`)).status, 204)
  await end(gone, 'delivered')
  await settle()
})

test('the status of a message is the worst end of its deliveries, or what those say that are open', async () => {
  const cases: [string[], string][] = [
    [['complained', 'bounced', 'delivered'], 'complained'],
    [['delivered', 'bounced', 'blocked'], 'bounced'],
    [['expired', 'blocked', 'delivered'], 'blocked'],
    [['delivered', 'expired', 'cancelled'], 'expired'],
    [['cancelled', 'delivered', 'suppressed'], 'delivered'],
    [['suppressed', 'cancelled', 'cancelled'], 'cancelled'],
    [['open', 'delivered', 'bounced'], 'sent'],
    [['complained', 'held', 'bounced'], 'sent'],
    [['open', 'bounced', 'held'], 'queued'],
    [['held', 'bounced', 'held'], 'held'],
    [['expired', 'bounced', 'open'], 'queued'],
  ]
  const { account, inboxId } = await anAccountWithMail()
  for (const [deliveries, status] of cases) {
    const mail = await aMail(account, inboxId, ['a@example.com', 'b@example.com', 'c@example.com'])
    await world.db.transact(by, tx =>
      tx.run(
        sql`update queue set status = 'held' where message_id = ${mail.submissionId} and n = any(${deliveries.flatMap(
          (each, n) => (each === 'held' ? [n] : []),
        )}::integer[])`,
      ),
    )
    for (const [n, each] of deliveries.entries()) if (each !== 'open' && each !== 'held') await end(mail, each, [n])
    await settle()
    assert.equal(await statusOf(mail), status, deliveries.join(', '))
  }
})

test('whatever the order of rounds, slices, locks and failures, each event is told once and statuses are right', async () => {
  const owners = [await anAccountWithMail(), await anAccountWithMail(), await anAccountWithMail()]
  const mails: (Mail & { ended: string[] })[] = []
  for (let n = 0; n < 18; n++) {
    const { account, inboxId } = owners[n % 3]!
    const mail = await aMail(account, inboxId)
    await enlarge(mail, n % 3 === 0 ? 9_000 : 20)
    mails.push({ ...mail, ended: [] })
  }
  await follow()
  const dead = new Error('the process died')
  const failing = { ...world, db: Object.create(world.db) as typeof world.db }
  failing.db.transact = (actor, recipe) => world.db.transact(actor, tx => recipe(tx).then(() => Promise.reject(dead)))
  const somewhere = (): World => (randomInt(4) === 0 ? failing : world)
  let isOver = false
  const until = async (step: () => Promise<unknown>): Promise<void> => {
    while (!isOver)
      await step().catch(error => {
        if (error !== dead) throw error
      })
  }
  const [tails, readers] = [
    [followDeliveries(), followDeliveries()],
    [statusBacklog(), statusBacklog()],
  ]
  const workers = [
    ...tails.map(each => until(() => advanceTail(somewhere(), each))),
    ...readers.map(each => until(() => each.run(somewhere(), signal))),
    until(() => whileLocked(owners[randomInt(3)]!.inboxId, async () => void (await backlogs()))),
  ]
  for (let round = 0; round < 5; round++) {
    for (const mail of mails) {
      const status = ['delivered', 'bounced', 'expired'][randomInt(3)]!
      await end(mail, status, [mail.ended.length])
      mail.ended.push(status)
    }
  }
  const isTold = async (mail: (typeof mails)[number]): Promise<boolean> =>
    (await toldOf(mail)).length >= mail.ended.length
  await eventually('all are told', async () => (await Promise.all(mails.map(isTold))).every(Boolean), 60_000)
  isOver = true
  await Promise.all(workers)
  await settle()

  for (const mail of mails) {
    assert.deepEqual(await toldOf(mail), mail.ended)
    assert.equal(await statusOf(mail), mail.ended.includes('delivered') ? 'sent' : 'queued')
  }
})
