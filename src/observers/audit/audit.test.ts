// The audit log: complete, append-only, and honest about every way of tampering with it.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { aBox, asSuperuser, theBox, type Box } from '../../../test/support/box.ts'
import { onePerFile } from '../../../test/support/file-end.ts'
import { anAccount, aTenant, eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { canonicalEntry } from '../../platform/journal/canonical-entry.ts'
import { entryMac, GENESIS, hashEntry } from './chain.ts'
import { listEntriesAfter } from './queries.ts'
import type { Verdict } from './verify.ts'

const HEADS_FILE = 'audit-heads.jsonl'

/** A box whose audit log holds twelve sealed entries. */
async function aSealedLog(): Promise<Box> {
  const box = await aBox()
  const { api } = await anAccount({ box, tenants: 0 })
  for (let n = 0; n < 11; n++) await aTenant(api)
  const sealed = { intact: true, entries: 12, outside_heads: 'checked', outside_head_id: 12 }
  await eventually('a head of the last entry is outside', async () => isDeepStrictEqual(await verdict(box), sealed))
  return box
}

const TABLES = ['audit_entries', 'audit_seals', 'audit_heads']

const theSealedLog = onePerFile(async () => {
  const box = await aSealedLog()
  await tamper(box, ...TABLES.map(table => `create table kept_${table} as table ${table}`))
  const heads = await readFile(join(box.dataDir, HEADS_FILE))
  const restore = async (): Promise<void> => {
    await tamper(box, ...TABLES.flatMap(each => [`truncate ${each}`, `insert into ${each} table kept_${each}`]))
    await writeFile(join(box.dataDir, HEADS_FILE), heads)
    assert.equal((await verdict(box)).intact, true, 'the log is whole again')
  }
  return { box, restore }
})

/** The same for many tests: after each it is what it was. */
async function aLogToTamperWith(t: TestContext): Promise<Box> {
  const { box, restore } = await theSealedLog()
  t.after(restore)
  return box
}

/** As a superuser who switches the triggers off first. */
async function tamper(box: Box, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: await asSuperuser(box.databaseUrl) })
  await client.connect()
  await client.query('set session_replication_role = replica')
  for (const statement of statements) await client.query(statement)
  await client.end()
}

async function verdict(box: Box): Promise<Verdict> {
  return (await box.operator.get('/admin/v1/audit/verify')).body
}

test('an entry says who did what to which object from where, and continues the chain', async () => {
  const { api, id, tenant } = await anAccount()
  await api.patch(`/v1/tenants/${tenant.id}`, { name: 'Renamed' })

  const { body } = await api.get('/v1/audit')

  const [latest, previous] = body.entries
  assert.equal(latest.action, 'tenant.update')
  assert.deepEqual(latest.target, { type: 'tenant', id: tenant.id })
  assert.equal(latest.account_id, id)
  assert.equal(latest.tenant_id, tenant.id)
  assert.equal(latest.actor.type, 'api_key')
  assert.equal(latest.actor.name, 'bootstrap')
  assert.equal(latest.ip, '127.0.0.1')
  assert.deepEqual(latest.before, { name: 'Test tenant' })
  assert.deepEqual(latest.after, { name: 'Renamed' })
  assert.equal(latest.id, previous.id + 1)
  assert.equal(latest.prev_hash, previous.hash)
})

test('the request id of an entry is the one the caller was given', async () => {
  const { api } = await anAccount()
  const { headers } = await api.post('/v1/tenants', { external_id: 'traced', name: 'Traced' })
  const { body } = await api.get('/v1/audit?action=tenant.create&limit=1')
  assert.equal(body.entries[0].request_id, headers.get('x-request-id'))
})

test('an account sees its own entries only, paged by before_id, filtered by action', async () => {
  const { api } = await anAccount({ tenants: 5 })
  await anAccount({ tenants: 2 })

  const first = await api.get('/v1/audit?limit=4')
  const second = await api.get(`/v1/audit?limit=4&before_id=${first.body.next_before_id}`)

  assert.equal(first.body.entries.length, 4)
  assert.deepEqual(
    second.body.entries.map((entry: { action: string }) => entry.action),
    ['tenant.create', 'account.create'],
  )
  assert.equal(second.body.next_before_id, null)
  assert.equal((await api.get('/v1/audit?action=account.create')).body.entries.length, 1)
})

test('the database refuses to update, delete or truncate entries, seals and heads', async () => {
  const box = await theBox()
  await anAccount()
  const client = new pg.Client({ connectionString: box.databaseUrl })
  await client.connect()
  for (const table of TABLES) {
    const key = table === 'audit_entries' ? 'id' : 'entry_id'
    for (const statement of [`update ${table} set ${key} = ${key}`, `delete from ${table}`, `truncate ${table}`]) {
      await assert.rejects(client.query(statement), /append-only/, statement)
    }
  }
  await client.end()
})

const tamperings: Record<string, { statements: string[]; brokenAt: number }> = {
  'an edit': { statements: [`update audit_entries set actor_name = 'somebody else' where id = 5`], brokenAt: 5 },
  'an edit of a microsecond': {
    statements: [`update audit_entries set created_at = created_at + interval '1 microsecond' where id = 5`],
    brokenAt: 5,
  },
  'an edit of white space in a JSON value': {
    statements: [`update audit_entries set after = (after::text || ' ')::json where id = 6`],
    brokenAt: 6,
  },
  'the removal of an entry': { statements: ['delete from audit_entries where id = 4'], brokenAt: 4 },
  'the removal of an entry with its seal': {
    statements: ['delete from audit_entries where id = 4', 'delete from audit_seals where entry_id = 4'],
    brokenAt: 4,
  },
  'a removal hidden by renumbering': {
    statements: [
      'delete from audit_entries where id = 4',
      'delete from audit_seals where entry_id = 4',
      'update audit_entries set id = -id where id > 4',
      'update audit_entries set id = -id - 1 where id < 0',
      'update audit_seals set entry_id = -entry_id where entry_id > 4',
      'update audit_seals set entry_id = -entry_id - 1 where entry_id < 0',
    ],
    brokenAt: 4,
  },
  'a reorder': {
    statements: [
      'update audit_entries set id = -7 where id = 7',
      'update audit_entries set id = 7 where id = 8',
      'update audit_entries set id = 8 where id = -7',
    ],
    brokenAt: 7,
  },
  'a truncated tail': {
    statements: [
      'delete from audit_entries where id > 9',
      'delete from audit_seals where entry_id > 9',
      'delete from audit_heads where entry_id > 9',
    ],
    brokenAt: 10,
  },
  'an emptied log': {
    statements: ['truncate audit_entries', 'truncate audit_seals', 'truncate audit_heads'],
    brokenAt: 1,
  },
  'a forged tail': {
    statements: [
      `insert into audit_entries select 13, account_id, tenant_id, actor_type, actor_id, actor_name, ip, 'tenant.forged',
         target_type, target_id, before, after, request_id, created_at, mac, mac_version from audit_entries where id = 12`,
    ],
    brokenAt: 13,
  },
  'a genuine entry copied to the end': {
    statements: [
      `insert into audit_entries select 13, account_id, tenant_id, actor_type, actor_id, actor_name, ip, action,
         target_type, target_id, before, after, request_id, created_at, mac, mac_version from audit_entries where id = 12`,
    ],
    brokenAt: 13,
  },
  'the same entry in the place of another, with a seal of its own': {
    statements: [
      'delete from audit_entries where id = 12',
      'delete from audit_seals where entry_id = 12',
      'delete from audit_heads where entry_id = 12',
      `insert into audit_entries select 12, account_id, tenant_id, actor_type, actor_id, actor_name, ip, action,
         target_type, target_id, before, after, request_id, created_at, mac, mac_version from audit_entries where id = 11`,
    ],
    brokenAt: 12,
  },
  'an entry that claims the form of an older version': {
    statements: ['update audit_entries set mac_version = 1 where id = 5'],
    brokenAt: 5,
  },
  'an entry of a form that there is not': {
    statements: ['update audit_entries set mac_version = 3 where id = 5'],
    brokenAt: 5,
  },
  'a removed seal': { statements: ['delete from audit_seals where entry_id = 3'], brokenAt: 3 },
}

for (const [name, { statements, brokenAt }] of Object.entries(tamperings)) {
  test(`verify finds ${name} and says where it begins`, async t => {
    const box = await aLogToTamperWith(t)

    await tamper(box, ...statements)

    const { intact, broken_at_id, reason } = await verdict(box)
    assert.equal(intact, false)
    assert.equal(broken_at_id, brokenAt, reason)
  })
}

test('verify finds a chain that was re-hashed as a whole, back to the first changed entry', async t => {
  const box = await aLogToTamperWith(t)
  await tamper(box, `update audit_entries set action = 'nothing.happened' where id = 5`)
  // The way of hashing is public, so the forger does it right.
  const entries = await listEntriesAfter(box.app.world.db, { id: 0, limit: 100 })
  let prevHash = GENESIS
  for (const entry of entries) {
    const hash = hashEntry(prevHash, entry)
    const [previous, own] = [prevHash, hash].map(bytes => `'\\x${bytes.toString('hex')}'`)
    await tamper(box, `update audit_seals set prev_hash = ${previous}, hash = ${own} where entry_id = ${entry.id}`)
    prevHash = hash
  }
  await tamper(box, 'truncate audit_heads')

  const { intact, broken_at_id } = await verdict(box)

  assert.equal(intact, false)
  assert.equal(broken_at_id, 5)
})

test('a head outside the database disagrees with a chain that even the secret key would accept', async t => {
  const box = await aLogToTamperWith(t)
  // An attacker with SECRET_KEY can seal a shorter history afresh; only what was written elsewhere contradicts it.
  await tamper(box, 'delete from audit_entries where id > 8', 'truncate audit_seals', 'truncate audit_heads')

  const { intact, broken_at_id } = await verdict(box)

  assert.equal(intact, false)
  assert.equal(broken_at_id, 9)
})

test('a head without a valid signature proves nothing, and a line cut by a crash is passed over', async t => {
  const box = await aLogToTamperWith(t)
  const file = join(box.dataDir, HEADS_FILE)
  const lines = await readFile(file, 'utf8')
  const forged = { ...JSON.parse(lines.trim().split('\n').at(-1)!), entry_id: 99 }

  await writeFile(file, `${lines}${JSON.stringify(forged)}\n{"entry_id":12,"ha`)

  assert.equal((await verdict(box)).intact, true)
})

test('the log goes on after a restart, and with several processes writing and sealing at once', async t => {
  const box = await aSealedLog()
  const other = await aBox({ until: t, databaseUrl: box.databaseUrl })
  const { api, bearer } = await anAccount({ box, tenants: 0 })
  const clients = [api, other.client(bearer)]

  await Promise.all(Array.from({ length: 60 }, (_, n) => aTenant(clients[n % 2]!)))
  await other.close()

  const { intact, entries } = await verdict(box)
  assert.deepEqual({ intact, entries }, { intact: true, entries: 73 })
})

test('heads are written to the log as well', async t => {
  const box = await aLogToTamperWith(t)
  const heads = box.logLines.map(line => JSON.parse(line)).filter(line => line.audit_head)
  assert.ok(heads.some(({ audit_head: head }) => head.entry_id === 12))
})

test('an untouched log is intact however often it is verified while eight others write', async t => {
  const box = await aBox({ until: t })
  const { api } = await anAccount({ box, tenants: 0 })
  let isOver = false
  let written = 1
  const writers = Array.from({ length: 8 }, async () => {
    for (; !isOver; written++) await aTenant(api)
  })

  const verdicts: Verdict[] = []
  for (let n = 0; n < 8; n++) {
    const before = written
    const found = await verdict(box)
    verdicts.push(found)
    assert.ok(found.entries >= before, 'all that was answered before the call is looked at')
  }
  isOver = true
  await Promise.all(writers)

  assert.deepEqual(
    verdicts.filter(each => !each.intact),
    [],
  )
})

test('entries that nobody has sealed yet are checked by the MAC they were written with', async t => {
  // No worker, so nothing is sealed unless verify does it.
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { api } = await anAccount({ box, tenants: 0 })
  for (let n = 0; n < 4; n++) await aTenant(api)
  await tamper(box, `update audit_entries set action = 'nothing.happened' where id = 4`)

  const { intact, broken_at_id } = await verdict(box)

  assert.equal(intact, false)
  assert.equal(broken_at_id, 4)
})

test('a forged entry is never sealed, and what we write behind it is', async () => {
  const box = await aSealedLog()
  await tamper(
    box,
    `insert into audit_entries select 13, account_id, tenant_id, actor_type, actor_id, actor_name, ip, action,
       target_type, target_id, before, after, request_id, created_at, mac, mac_version from audit_entries where id = 12`,
  )
  const { api } = await anAccount({ box, tenants: 1 })

  assert.equal((await verdict(box)).broken_at_id, 13)

  const seals = await box.app.world.db.many<{ id: number }>(
    sql`select entry_id as id from audit_seals where entry_id > 11 order by 1`,
  )
  assert.deepEqual(
    seals.map(seal => seal.id),
    [12, 14, 15],
  )
  assert.equal((await api.get('/v1/audit')).body.entries.length, 2)
  assert.ok(box.logLines.some(line => line.includes('an audit entry was not sealed')))
})

test('time never goes back from one entry to the next, although a transaction that began first commits last', async t => {
  const box = await aBox({ until: t })
  const { db, clock } = { db: box.app.world.db, clock: box.clock }
  const target = { type: 'test', id: 'one' }
  const audit = (tx: Tx) => tx.audit({ action: 'test.write', accountId: null, target })
  await db.transact(system('test'), async slow => {
    clock.advance(60_000)
    await db.transact(system('quick'), async quick => audit(quick))
    audit(slow)
  })
  clock.advance(-3_600_000)
  await db.transact(system('behind'), async tx => audit(tx))

  const entries = await listEntriesAfter(db, { id: 0, limit: 10 })
  const times = entries.map(entry => Number(entry.createdAtMicros))
  assert.equal(times.length, 3)
  assert.deepEqual(
    times,
    times.toSorted((left, right) => left - right),
  )
  assert.equal((await verdict(box)).intact, true)
})

test('verify finds an entry that even the secret key signed, when its time goes back', async t => {
  const box = await aLogToTamperWith(t)
  const [entry] = await listEntriesAfter(box.app.world.db, { id: 11, limit: 1 })
  const createdAtMicros = String(Number(entry!.createdAtMicros) - 86_400_000_000)
  const mac = entryMac(box.app.world.secrets, { ...entry!, createdAtMicros })!
  await tamper(
    box,
    `update audit_entries set created_at = created_at - interval '1 day', mac = '\\x${mac.toString('hex')}' where id = 12`,
    'delete from audit_seals where entry_id = 12',
    'delete from audit_heads where entry_id = 12',
  )

  const { broken_at_id, reason } = await verdict(box)

  assert.equal(broken_at_id, 12)
  assert.match(reason!, /time goes back/)
})

test('a node that has no heads outside the database says that it could not compare with them', async t => {
  const box = await aLogToTamperWith(t)
  const other = await aBox({ until: t, databaseUrl: box.databaseUrl, environment: { ROLES: 'api' } })

  assert.deepEqual(await verdict(other), { intact: true, entries: 12, outside_heads: 'unavailable' })
  assert.equal((await verdict(box)).outside_heads, 'checked')
  await writeFile(join(box.dataDir, HEADS_FILE), '')
  assert.equal((await verdict(box)).outside_heads, 'unavailable')
})

test('a head that verify itself writes is no head to compare with: a log that was cut off does not pass as checked', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { api } = await anAccount({ box, tenants: 0 })
  for (let n = 0; n < 11; n++) await aTenant(api)
  await tamper(box, 'delete from audit_entries where id > 8')

  assert.deepEqual(await verdict(box), { intact: true, entries: 8, outside_heads: 'unavailable' })
  // What was written then was there before the next one, and vouches for no more than it saw.
  await aTenant(api)
  assert.equal((await verdict(box)).outside_head_id, 8)
})

test('entries written before MACs knew their place are checked by the old rule, and only in front of the new ones', async t => {
  const box = await aLogToTamperWith(t)
  const { db, secrets } = box.app.world
  const asOld = async (ids: number[]) => {
    const entries = await listEntriesAfter(db, { id: 0, limit: 100 })
    for (const entry of entries.filter(({ id }) => ids.includes(id))) {
      const mac = secrets.mac('audit-mac', `entry\n${canonicalEntry(entry)}`).toString('hex')
      await tamper(box, `update audit_entries set mac_version = 1, mac = '\\x${mac}' where id = ${entry.id}`)
    }
  }

  await asOld([1, 2, 3, 4, 5, 6])
  assert.equal((await verdict(box)).intact, true)

  await asOld([9])
  assert.equal((await verdict(box)).broken_at_id, 9)
})
