/** The role that the service connects as, in new clusters and in those of a version that knew only the superuser. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate, readMigrations } from '../db/migrate.ts'
import { anInstallation, ask } from './installation.fixture.ts'
import { readOrEmpty } from './processes.ts'

const RIGHTS = `
  select jsonb_build_object('super', rolsuper, 'createrole', rolcreaterole, 'createdb', rolcreatedb,
    'replication', rolreplication, 'bypassrls', rolbypassrls,
    'databases', (select array_agg(datname) from pg_database where datdba = pg_roles.oid))
  from pg_roles where rolname = current_user`
const OWN = { super: false, createrole: false, createdb: false, replication: false, bypassrls: false }

/** What in our schemas belongs to somebody else. */
const FOREIGN = `
  select count(*)::int from (
    select relowner as owner from pg_class where relnamespace = 'public'::regnamespace
    union all select proowner from pg_proc where pronamespace = 'public'::regnamespace
    union all select typowner from pg_type where typnamespace = 'public'::regnamespace
  ) object where owner <> (select oid from pg_roles where rolname = current_user)`

test('the service owns its database and nothing else, and has no right over the server', async t => {
  const installation = await anInstallation(t)
  const { url } = await installation.hold()

  assert.deepEqual(await ask(url, RIGHTS), { ...OWN, databases: ['sluice'] })
  for (const statement of [
    'set session_replication_role = replica',
    `select pg_read_file('PG_VERSION')`,
    `copy (select 1) to program 'true'`,
    'alter system set fsync = off',
    'create role another superuser',
    'set role sluice',
  ]) {
    await assert.rejects(ask(url, statement), { code: '42501' }, statement)
  }
})

test('a cluster in which the superuser owned everything is handed to the role, data and all', async t => {
  const installation = await anInstallation(t)
  const first = await installation.hold()
  // As a version before left it: one role, which owned everything.
  await migrate(first.superuserUrl, await readMigrations())
  await ask(first.superuserUrl, 'create sequence of_its_own')
  await ask(first.superuserUrl, `create type of_its_own_too as enum ('a')`)
  await ask(first.superuserUrl, `select create_event_partitions(3)`)
  await ask(first.superuserUrl, `insert into tails (name, cursor) values ('kept', 7)`)
  for (const statement of [
    'reassign owned by sluice_app to sluice',
    'drop owned by sluice_app',
    'drop role sluice_app',
  ])
    await ask(first.superuserUrl, statement)
  await first.stop()

  const second = await installation.hold()

  assert.deepEqual(await ask(second.url, RIGHTS), { ...OWN, databases: ['sluice'] })
  assert.equal(await ask(second.url, FOREIGN), 0)
  assert.equal(await ask(second.url, `select cursor::int from tails where name = 'kept'`), 7)
  await ask(second.url, 'alter table tails add column later text')
  await ask(second.url, 'select create_event_partitions(6)')
  // The statement that makes the role holds its password.
  const password = /:([^:@]+)@/.exec(second.url)![1]!
  assert.equal(readOrEmpty(join(installation.folder, 'log')).includes(password), false)
})
