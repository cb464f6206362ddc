// The command line. What a command needs is loaded when it runs: a mistake in the configuration is told in a moment.
import { readConfig, variables } from './platform/config.ts'

const HELP: Record<string, string> = {
  serve: 'run the service (the default)',
  migrate: 'bring the schema of the database up to date, then end',
  'verify-audit': 'check the audit log; exit code 1 when it has been tampered with',
  openapi: 'print the OpenAPI document',
  workers: 'list the background workers',
  help: 'print this',
}

const asked = process.argv[2] ?? 'serve'
const name = asked === '--help' || asked === '-h' ? 'help' : asked
if (!Object.hasOwn(HELP, name)) {
  console.error(`sluice: there is no command "${name}"; try: ${Object.keys(HELP).join(', ')}`)
  process.exit(2)
}
const read = readConfig()
if ('mistakes' in read) {
  for (const mistake of read.mistakes) console.error(`sluice: ${mistake}`)
  process.exit(1)
}
try {
  process.exitCode = name === 'help' ? printHelp() : await (await import('./commands.ts')).commands[name]!(read.config)
} catch (error) {
  console.error(`sluice: ${reasonOf(error)}`)
  process.exit(1)
}

function printHelp(): number {
  console.log('usage: node src/main.ts [command]\n')
  for (const [each, help] of Object.entries(HELP)) console.log(`  ${each.padEnd(14)} ${help}`)
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
