// The command line. What a command needs is loaded when it runs: a mistake in the configuration is told in a moment.
import { readConfig, variables, type Config } from './platform/config.ts'

const COMMANDS: Record<string, { help: string; run(config: Config): Promise<number> }> = {
  serve: {
    help: 'run the service (the default)',
    run: async config => (await import('./serve.ts')).serve(config),
  },
  migrate: {
    help: 'bring the schema of the database up to date, then end',
    run: async config => (await import('./commands.ts')).migrateOnly(config),
  },
  'verify-audit': {
    help: 'check the audit log; exit code 1 when it has been tampered with',
    run: async config => (await import('./commands.ts')).verifyOnly(config),
  },
  openapi: {
    help: 'print the OpenAPI document',
    run: async config => (await import('./commands.ts')).printOpenApi(config),
  },
  workers: {
    help: 'list the background workers',
    run: async config => (await import('./commands.ts')).printWorkers(config),
  },
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
