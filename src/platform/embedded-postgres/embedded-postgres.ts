/**
 * A real PostgreSQL server for one machine, run from the binaries that npm installed. Several processes may use one
 * folder: the first starts the server, later ones join it, the last to leave or die shuts it down, and if it dies it
 * is brought up again.
 */
import { rmSync } from 'node:fs'
import { ensureCluster, readPassword } from './cluster.ts'
import { connectionUrl, superuserUrl } from './connection.ts'
import { agreeOnSocketFolder, dropSocketFolder, newHolderFile, writeHolderFile } from './holders.ts'
import { keepUp, type Keeper } from './keeper.ts'
import { isAlive, signalProcess } from './processes.ts'
import { bringUp } from './server.ts'
import { trimServerLog } from './server-log.ts'
import { type Log, prepareSite, type Site } from './site.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'

export interface EmbeddedPostgres {
  /** For the driver's connectionString; the host is a folder with a socket in it. Stays the same while it is held. */
  readonly url: string
  /** The same database as superuser: for maintenance and tests. */
  readonly superuserUrl: string
  /** How it came up: a new database, an existing one started, or a running server joined. */
  readonly origin: 'created' | 'started' | 'adopted'
  /** Leaves the server to other users of the same folder, or stops it cleanly when there are none. */
  stop(): Promise<void>
}

// A clean shutdown writes out what is in memory. Past this the server is told to quit, and recovers at its next start.
const STOP_TIMEOUT_MS = 20_000
const QUIT_TIMEOUT_MS = 10_000

export async function startEmbeddedPostgres(options: {
  /** Created if absent. */
  folder: string
  log: Log
  /** PostgreSQL settings on top of ours. */
  settings?: Record<string, string>
}): Promise<EmbeddedPostgres> {
  const site = prepareSite(options)
  trimServerLog(site.logFile)
  const isNew = await ensureCluster(site)

  const wantedFolder = agreeOnSocketFolder(site)
  const holderFile = newHolderFile(site)
  writeHolderFile(holderFile, wantedFolder)
  const watchdog = startWatchdog(site, holderFile)
  try {
    const server = await bringUp(site, { socketFolder: wantedFolder, onSight: watchdog.watch })
    const { socketFolder } = server
    if (socketFolder !== wantedFolder) {
      writeHolderFile(holderFile, socketFolder)
      dropSocketFolder(wantedFolder)
    }
    const keeper = keepUp(site, server, { socketFolder, onSight: watchdog.watch })
    const origin = server.isAdopted ? 'adopted' : isNew ? 'created' : 'started'
    site.log('info', `database ${origin}`, { folder: site.folder, pid: server.identity.pid })

    const address = { socketFolder, password: readPassword(site) }
    let stopped: Promise<void> | null = null
    return {
      url: connectionUrl(address),
      superuserUrl: superuserUrl(address),
      origin,
      stop: () => (stopped ??= leave(site, { keeper, watchdog })),
    }
  } catch (cause) {
    if ((await watchdog.release(STOP_TIMEOUT_MS)) === 'gone') dropSocketFolder(wantedFolder)
    rmSync(holderFile, { force: true })
    throw cause
  }
}

async function leave(site: Site, { keeper, watchdog }: { keeper: Keeper; watchdog: Watchdog }): Promise<void> {
  await keeper.stop()
  if ((await watchdog.release(STOP_TIMEOUT_MS)) !== 'late') return
  const { identity } = keeper.current()
  if (!isAlive(identity)) return
  site.log('warn', 'the database server takes too long to stop, telling it to quit', { pid: identity.pid })
  signalProcess(identity, 'SIGQUIT')
  await watchdog.release(QUIT_TIMEOUT_MS)
}
