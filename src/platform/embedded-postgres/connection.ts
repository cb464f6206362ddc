/** Talks to the server just enough to know that it is ours and answers, and that it holds our database and its role. */
import { createHmac } from 'node:crypto'
import { Client, DatabaseError } from 'pg'
import { SUPERUSER } from './cluster.ts'
import { ROLE, roleSetUp } from './role.ts'
import { PORT } from './settings.ts'

const DATABASE = 'sluice'
const CONNECT_TIMEOUT_MS = 5_000

interface Address {
  readonly socketFolder: string
  /** The superuser's. */
  readonly password: string
}

/** For the service: a role that owns its database and can do nothing else. */
export const connectionUrl = ({ socketFolder, password }: Address): string =>
  urlOf({ socketFolder, user: ROLE, password: rolePassword(password) })

/** For maintenance and tests. The service never connects with it. */
export const superuserUrl = ({ socketFolder, password }: Address): string =>
  urlOf({ socketFolder, user: SUPERUSER, password })

function urlOf({ socketFolder, user, password }: { socketFolder: string; user: string; password: string }): string {
  // Port and sslmode are spelt out: left open, the driver takes them from PGPORT and PGSSLMODE.
  const query = `host=${encodeURIComponent(socketFolder)}&port=${PORT}&sslmode=disable`
  return `postgres://${user}:${password}@/${DATABASE}?${query}`
}

/** Follows from the superuser's and does not give it away, so there is no second secret to keep. */
const rolePassword = (password: string): string => createHmac('sha256', password).update(ROLE).digest('base64url')

/**
 * `ready`: our password is right, the database exists and so does its role, created here if need be. `unreachable`:
 * nobody listens there. `busy`: starting, stopping, out of connections, being set up by another process, or it died
 * while we talked. Throws when the server says no, to the password for one.
 */
export async function callServer(address: Address): Promise<'ready' | 'busy' | 'unreachable'> {
  try {
    await ensureDatabase(address)
    return 'ready'
  } catch (cause) {
    const code = (cause as { code?: string }).code ?? ''
    if (['ENOENT', 'ECONNREFUSED'].includes(code)) return 'unreachable'
    // Classes 57 and 53: the operator intervened, which starting and stopping count as, and insufficient resources.
    const isRefusal = cause instanceof DatabaseError ? !/^(57|53)/.test(code) : code === 'EACCES'
    if (!isRefusal || isBeingSetUp(code)) return 'busy'
    throw new Error(`The embedded PostgreSQL does not accept us: ${(cause as Error).message}`, { cause })
  }
}

async function ensureDatabase(address: Address): Promise<void> {
  try {
    if ((await runOn(DATABASE, address, `select 1 from pg_roles where rolname = '${ROLE}'`)) > 0) return
  } catch (cause) {
    if ((cause as { code?: string }).code !== '3D000') throw cause
    await runOn('postgres', address, `create database ${DATABASE}`)
  }
  await runOn(DATABASE, address, roleSetUp({ database: DATABASE, password: rolePassword(address.password) }))
}

/** Two processes set up at once; the slower one looks again. 42P04, 42710 and 23505 are what it is told. */
const isBeingSetUp = (code: string): boolean => ['42P04', '42710', '23505'].includes(code)

async function runOn(database: string, { socketFolder, password }: Address, statements: string): Promise<number> {
  const client = new Client({
    host: socketFolder,
    port: Number(PORT),
    user: SUPERUSER,
    password,
    database,
    ssl: false,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  })
  // Without a listener, a connection that breaks after the answer would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rowCount } = await client.query(statements)
    return rowCount ?? 0
  } finally {
    await client.end().catch(() => {})
  }
}
