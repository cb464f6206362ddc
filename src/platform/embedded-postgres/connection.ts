/** Talks to the server just enough to know that it is ours and answers, and that it holds our database. */
import { Client, DatabaseError } from 'pg'
import { USER } from './cluster.ts'
import { PORT } from './settings.ts'

const DATABASE = 'sluice'
const CONNECT_TIMEOUT_MS = 5_000

export interface Address {
  readonly socketFolder: string
  readonly password: string
}

export function connectionUrl({ socketFolder, password }: Address): string {
  // Port and sslmode are spelt out: left open, the driver takes them from PGPORT and PGSSLMODE.
  const query = `host=${encodeURIComponent(socketFolder)}&port=${PORT}&sslmode=disable`
  return `postgres://${USER}:${password}@/${DATABASE}?${query}`
}

/**
 * `ready`: our password is right and the database exists, created here if need be. `unreachable`: nobody listens
 * there. `busy`: starting, stopping, out of connections, or it died while we talked. Throws when the server says no,
 * to the password for one.
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
    if (!isRefusal) return 'busy'
    throw new Error(`The embedded PostgreSQL does not accept us: ${(cause as Error).message}`, { cause })
  }
}

async function ensureDatabase(address: Address): Promise<void> {
  try {
    await runOn(DATABASE, address, 'select 1')
  } catch (cause) {
    if ((cause as { code?: string }).code !== '3D000') throw cause
    await runOn('postgres', address, `create database ${DATABASE}`).catch((cause: { code?: string }) => {
      // Another process created it at the same time.
      if (cause.code !== '42P04' && cause.code !== '23505') throw cause
    })
  }
}

async function runOn(database: string, { socketFolder, password }: Address, statement: string): Promise<void> {
  const client = new Client({
    host: socketFolder,
    port: Number(PORT),
    user: USER,
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
    await client.query(statement)
  } finally {
    await client.end().catch(() => {})
  }
}
