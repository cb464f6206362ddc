// The audit log: complete, append-only, and honest about every way of tampering with it.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { aBox, theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, aTenant } from '../../../test/support/factories.ts'
import { GENESIS, hashEntry } from './chain.ts'
import { listEntriesAfter } from './queries.ts'

/** A box whose audit log holds twelve sealed entries. */
async function aSealedLog(): Promise<Box> {
  const box = await aBox()
  const { api } = await anAccount({ box, tenants: 0 })
  for (let n = 0; n < 11; n++) await aTenant(api)
  assert.deepEqual((await box.operator.get('/admin/v1/audit/verify')).body, { intact: true, entries: 12 })
  return box
}

/** As a superuser who switches the triggers off first. */
async function tamper(box: Box, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: box.databaseUrl })
  await client.connect()
  await client.query('set session_replication_role = replica')
  for (const statement of statements) await client.query(statement)
  await client.end()
}

async function verdict(box: Box): Promise<{ intact: boolean; broken_at_id?: number; reason?: string }> {
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
  for (const table of ['audit_entries', 'audit_seals', 'audit_heads']) {
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
         target_type, target_id, before, after, request_id, created_at, mac from audit_entries where id = 12`,
    ],
    brokenAt: 13,
  },
  'a removed seal': { statements: ['delete from audit_seals where entry_id = 3'], brokenAt: 3 },
}

for (const [name, { statements, brokenAt }] of Object.entries(tamperings)) {
  test(`verify finds ${name} and says where it begins`, async () => {
    const box = await aSealedLog()

    await tamper(box, ...statements)

    const { intact, broken_at_id, reason } = await verdict(box)
    assert.equal(intact, false)
    assert.equal(broken_at_id, brokenAt, reason)
  })
}

test('verify finds a chain that was re-hashed as a whole, back to the first changed entry', async () => {
  const box = await aSealedLog()
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

test('a head outside the database disagrees with a chain that even the secret key would accept', async () => {
  const box = await aSealedLog()
  // Whoever holds SECRET_KEY can seal a shorter history afresh; only what was written elsewhere contradicts it.
  await tamper(box, 'delete from audit_entries where id > 8', 'truncate audit_seals', 'truncate audit_heads')

  const { intact, broken_at_id } = await verdict(box)

  assert.equal(intact, false)
  assert.equal(broken_at_id, 9)
})

test('a head without a valid signature proves nothing, and a line cut by a crash is passed over', async () => {
  const box = await aSealedLog()
  const file = join(box.dataDir, 'audit-heads.jsonl')
  const lines = await readFile(file, 'utf8')
  const forged = { ...JSON.parse(lines.trim().split('\n').at(-1)!), entry_id: 99 }

  await writeFile(file, `${lines}${JSON.stringify(forged)}\n{"entry_id":12,"ha`)

  assert.equal((await verdict(box)).intact, true)
})

test('the log goes on after a restart, and with several processes writing and sealing at once', async () => {
  const box = await aSealedLog()
  const other = await aBox({ databaseUrl: box.databaseUrl })
  const { api, bearer } = await anAccount({ box, tenants: 0 })
  const clients = [api, other.client(bearer)]

  await Promise.all(Array.from({ length: 60 }, (_, n) => aTenant(clients[n % 2]!)))
  await other.close()

  assert.deepEqual(await verdict(box), { intact: true, entries: 73 })
})

test('heads are written to the log as well', async () => {
  const box = await aSealedLog()
  const heads = box.logLines.map(line => JSON.parse(line)).filter(line => line.audit_head)
  assert.equal(heads.at(-1).audit_head.entry_id, 12)
})
