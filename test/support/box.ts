// The app in a box: the real service on a cloned database and a free port, with a clock that tests move. One per test file,
// started at its first use and taken down after its last test.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { buildApp, type App } from '../../src/app.ts'
import { steerableClock, type SteerableClock } from './clock.ts'
import { readConfig, type Environment } from '../../src/platform/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { Secrets } from '../../src/platform/secrets.ts'
import { ThreadPool } from '../../src/platform/threads/thread-pool.ts'
import { createClient, type Api } from './client.ts'
import { cloneDatabase, databaseIn, startCluster, type Cluster } from './cluster.ts'
import { atFileEnd, onePerFile } from './file-end.ts'

export const ADMIN_TOKEN = 'test-operator-token-0123456789'
export const SECRET_KEY = 'test-secret-key-0123456789-0123456789'

export interface Box {
  app: App
  clock: SteerableClock
  databaseUrl: string
  /** Every line that was logged. */
  logLines: string[]
  dataDir: string
  url: string
  /** A client with this bearer key, or without credentials. */
  client(bearer?: string): Api
  operator: Api
  close(): Promise<void>
}

let cluster: Promise<Cluster> | null = null

/** The cluster of this run. */
export const clusterUrl = async (): Promise<string> => process.env['SLUICE_TEST_CLUSTER'] ?? (await ownCluster()).url

/** The same database for somebody whom no rule of the database stops. */
export async function asSuperuser(databaseUrl: string): Promise<string> {
  const url = process.env['SLUICE_TEST_SUPERUSER'] ?? (await ownCluster()).superuserUrl
  return databaseIn(url, /^\w+:\/\/[^/]*\/([^?]*)/.exec(databaseUrl)![1]!)
}

function ownCluster(): Promise<Cluster> {
  if (!cluster) {
    cluster = startCluster()
    atFileEnd(stopCluster)
  }
  return cluster
}

async function stopCluster(): Promise<void> {
  const running = await cluster
  cluster = null
  await running?.stop()
}

/** A copy of the migrated template, or of another, with the right to drop it. */
export async function aClone(template?: string): Promise<{ url: string; drop(): Promise<void> }> {
  const { url, drop } = await cloneDatabase(await clusterUrl(), template)
  const superuserUrl = await asSuperuser(await clusterUrl())
  return { url, drop: () => drop(superuserUrl) }
}

/** A migrated database of its own, dropped after the file. */
export async function aDatabase(): Promise<string> {
  const database = await aClone()
  atFileEnd(database.drop)
  return database.url
}

/** The box that the tests of one file share, made as the first of them asks for it. */
export const theBox = onePerFile((options: BoxOptions = {}) => aBox(options))

interface BoxOptions {
  environment?: Environment
  databaseUrl?: string
  /** Of one test, after which nobody needs it: its workers would go on asking for work until the end of the file. */
  until?: TestContext | undefined
}

/** A folder for a server, with the certificate of this run in it, which it would have to make. */
export async function aDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-box-'))
  const prepared = process.env['SLUICE_TEST_DATA_DIR']
  if (prepared) await cp(prepared, folder, { recursive: true })
  atFileEnd(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** They outlast the boxes, and end with the process. */
const lastingThreads = new ThreadPool()
lastingThreads.close = async () => {}

/** A box of its own, for tests that break it. */
export async function aBox(options: BoxOptions = {}): Promise<Box> {
  const databaseUrl = options.databaseUrl ?? (await aDatabase())
  const dataDir = await aDataDir()
  const read = readConfig({
    PORT: '0',
    SMTP_PORT: '0',
    MX_PORT: '0',
    DATA_DIR: dataDir,
    // Each connection plans every statement anew: a quarter of what a box costs.
    DATABASE_POOL: '6',
    ...options.environment,
  })
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  const clock = steerableClock()
  const logLines: string[] = []
  const log = createLog('debug', { write: line => void logLines.push(line) })
  const app = await buildApp({
    config: read.config,
    clock,
    log,
    databaseUrl,
    adminToken: ADMIN_TOKEN,
    secrets: new Secrets(SECRET_KEY),
    forbidsNesting: true,
    threads: lastingThreads,
  })
  await app.start()
  const baseUrl = app.url ?? ''
  const client = (headers: Record<string, string>) => createClient({ baseUrl, contracts: app.contracts, headers })
  let isOpen = true
  const box: Box = {
    app,
    clock,
    databaseUrl,
    logLines,
    dataDir,
    url: baseUrl,
    client: bearer => client(bearer ? { authorization: `Bearer ${bearer}` } : {}),
    operator: client({ 'x-admin-token': ADMIN_TOKEN }),
    close: async () => {
      if (!isOpen) return
      isOpen = false
      await app.stop()
    },
  }
  if (options.until) options.until.after(box.close)
  else atFileEnd(box.close)
  return box
}
