// The command line: serve | migrate | verify-audit | openapi | workers | help.
import { describeApi } from './app.ts'
import { describedApp } from './describe.ts'
import { readConfig, variables, type Config } from './platform/config.ts'
import { migrate, readMigrations } from './platform/db/migrate.ts'
import { openDatabase, prepare, serve, withoutEnd } from './serve.ts'
import { verifyAudit } from './observers/audit/verify.ts'

const COMMANDS: Record<string, { help: string; run(config: Config): Promise<number> }> = {
  serve: { help: 'run the service (the default)', run: serve },
  migrate: { help: 'bring the schema of the database up to date, then end', run: migrateOnly },
  'verify-audit': { help: 'check the audit log; exit code 1 when it has been tampered with', run: verifyOnly },
  openapi: { help: 'print the OpenAPI document', run: printOpenApi },
  workers: { help: 'list the background workers', run: printWorkers },
  help: { help: 'print this', run: printHelp },
}

const name = process.argv[2] ?? 'serve'
const command = COMMANDS[name === '--help' || name === '-h' ? 'help' : name]
if (!command) {
  console.error(`sluice: there is no command "${name}"; try: ${Object.keys(COMMANDS).join(', ')}`)
  process.exit(2)
}
const read = readConfig()
if ('mistakes' in read) {
  for (const mistake of read.mistakes) console.error(`sluice: ${mistake}`)
  process.exit(1)
}
try {
  process.exitCode = await command.run(read.config)
} catch (error) {
  console.error(`sluice: ${reasonOf(error)}`)
  process.exit(1)
}

async function migrateOnly(config: Config): Promise<number> {
  const start = withoutEnd(config)
  const { url, close } = await openDatabase(config, start)
  const migrations = await readMigrations()
  const applied = await start.wait.until(() => migrate(url, migrations)).finally(close)
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'the schema is up to date')
  return 0
}

async function verifyOnly(config: Config): Promise<number> {
  const { app, close } = await prepare(config, withoutEnd({ ...config, LOG_LEVEL: 'silent' }))
  const verdict = await verifyAudit(app.world).finally(close)
  console.log(JSON.stringify(verdict))
  return verdict.intact ? 0 : 1
}

async function printOpenApi(config: Config): Promise<number> {
  console.log(JSON.stringify(describeApi((await describedApp(config)).contracts), null, 2))
  return 0
}

async function printWorkers(config: Config): Promise<number> {
  for (const { kind, name } of (await describedApp(config)).workers) console.log(`${kind.padEnd(8)} ${name}`)
  return 0
}

async function printHelp(): Promise<number> {
  console.log('usage: node src/main.ts [command]\n')
  for (const [each, { help }] of Object.entries(COMMANDS)) console.log(`  ${each.padEnd(14)} ${help}`)
  console.log('\nenvironment variables, all optional:\n')
  for (const [variable, { shown, meaning }] of Object.entries(variables)) {
    console.log(`  ${variable.padEnd(22)} ${meaning} [${shown}]`)
  }
  return 0
}

/** An error and its causes on one line; a stack helps nobody who only set a variable wrongly. */
function reasonOf(error: unknown): string {
  const reasons: string[] = []
  for (let each = error; each instanceof Error; each = each.cause) reasons.push(each.message || each.name)
  return reasons.join(': ')
}
