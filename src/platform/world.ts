// The World: what the recipes may touch besides their arguments. Twelve fields, built once in app.ts.
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Dns } from './net/dns.ts'
import type { GuardedHttp } from './net/guarded-http.ts'
import type { Secrets } from './secrets.ts'
import type { Slices } from './slices.ts'
import type { ThreadPool } from './threads/thread-pool.ts'
import type { Wakeups } from './db/wakeups.ts'
import type { LoadShedder } from './work/load-shedder.ts'

export interface World {
  config: Config
  clock: Clock
  secrets: Secrets
  db: Database
  wakeups: Wakeups
  log: Log
  metrics: Metrics
  threads: ThreadPool
  dns: Dns
  /** For addresses that customers choose. */
  http: GuardedHttp
  load: LoadShedder
  /** For work on the main thread that takes more than a moment. */
  slices: Slices
}
