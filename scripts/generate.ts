// Writes the files that are generated and committed: openapi.json, schema.sql, the access matrix. Tests keep them true.
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { describeApi } from '../src/app.ts'
import { describedApp } from '../src/describe.ts'
import { readConfig } from '../src/platform/config.ts'
import { describeSchema } from './schema-text.ts'
import { databaseIn, startCluster } from '../test/support/cluster.ts'

const read = readConfig({})
if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
const document = describeApi((await describedApp(read.config)).contracts)
await writeFile('openapi.json', `${JSON.stringify(document, null, 2)}\n`)

const cluster = await startCluster()
await writeFile('schema.sql', await describeSchema(databaseIn(cluster.url, 'sluice_template')))
await cluster.stop()

const matrix = spawnSync(
  process.execPath,
  ['--test', '--test-name-pattern=the access matrix', 'test/endpoints/endpoints.test.ts'],
  { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, GENERATE: '1' } },
)
if (matrix.status !== 0) process.exit(1)
console.log('wrote openapi.json, schema.sql, test/endpoints/access-matrix.txt')
process.exit(0)
