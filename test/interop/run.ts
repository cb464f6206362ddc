// `npm run interop [-- postfix|swaks|databases|clients]`: Sluice with the programs it meets in the world. They come from
// Debian's packages where they can be installed, and are skipped with a line where not. Everything on loopback.
import { check, failed, section, skip } from './checks.ts'
import { tryDatabases } from './databases.ts'

const parts: Record<string, () => Promise<void>> = {
  databases: tryDatabases,
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter(name => !parts[name])
if (unknown.length > 0) {
  console.error(`interop: there is no ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`)
  process.exit(2)
}
if (process.platform !== 'linux' || process.getuid?.() !== 0) {
  section('interop')
  skip('everything', 'mail servers change their user when they start, and only root may do that on Linux')
  process.exit(0)
}
const began = performance.now()
for (const [name, run] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  await run().catch((error: unknown) => check(`${name} can be tried`, () => Promise.reject(error)))
}
const seconds = Math.round((performance.now() - began) / 1000)
console.log(`\n${failed().length === 0 ? '✓ all that was tried works' : `✗ ${failed().length} failed`} (${seconds} s)`)
process.exit(failed().length === 0 ? 0 : 1)
