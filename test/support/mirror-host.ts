// Mirrors of one provider in a process of their own, to be measured or killed: `mirror-host.ts <database> <port>`, and `alone`
// without the rest of the service. The token of a mailbox is "token-of-" and its address.
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../../src/app.ts'
import { feature } from '../../src/mailbox/sync/feature.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { readConfig } from '../../src/platform/config.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { Secrets } from '../../src/platform/secrets.ts'
import { Supervisor } from '../../src/platform/work/supervisor.ts'

const [databaseUrl, port, alone] = process.argv.slice(2)
const DATA_DIR = await mkdtemp(join(tmpdir(), 'sluice-mirrors-'))
const read = readConfig({ DATA_DIR, PORT: '0', SMTP_PORT: '0', MX_PORT: '0' })
if ('mistakes' in read) throw new Error(read.mistakes.join())
const app = await buildApp({
  config: read.config,
  clock: systemClock(),
  log: createLog('warn'),
  databaseUrl: databaseUrl!,
  adminToken: 'mirror-host',
  secrets: new Secrets('mirror-host'),
})
if (alone === undefined) await app.start()
const tokens = {
  current: async (inboxId: string) => {
    const { address } = await app.world.db.one<{ address: string }>(
      sql`select address from connections where inbox_id = ${inboxId}`,
    )
    return { address, accessToken: `token-of-${address}`, generation: 1 }
  },
  refused: async () => {},
}
const world = { ...app.world, metrics: createMetrics() }
const imap = { host: '127.0.0.1', port: Number(port), secure: false }
const mirrors = feature(world, { tokens, servers: { google: { imap }, microsoft: null } })
new Supervisor(world).start(mirrors.workers!)
console.log('ready')
