/**
 * A process that holds an embedded PostgreSQL, for tests to start, stop and kill. Prints one line of JSON when it is
 * up or has failed, and another when it has stopped. Usage: holder.fixture.ts <folder> <settings as JSON> stay|leave
 */
import { once } from 'node:events'
import { startEmbeddedPostgres } from './embedded-postgres.ts'

const [folder = '', settings = '{}', mode = 'stay'] = process.argv.slice(2)
const print = (line: Record<string, unknown>) => console.log(JSON.stringify(line))

// As Sluice does: the first Ctrl-C begins an orderly stop instead of ending the process.
process.on('SIGINT', () => print({ kind: 'interrupted' }))

try {
  const log = (level: string, message: string) => console.error(level, message)
  const database = await startEmbeddedPostgres({
    folder,
    settings: JSON.parse(settings) as Record<string, string>,
    log,
  })
  const { url, superuserUrl, origin } = database
  print({ kind: 'up', url, superuserUrl, origin })
  if (mode === 'stay') {
    await once(process.stdin, 'data')
    await database.stop()
    print({ kind: 'stopped' })
    process.exit()
  }
} catch (cause) {
  print({ kind: 'failed', message: (cause as Error).message })
  process.exit(1)
}
