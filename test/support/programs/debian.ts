// Programs of others come from Debian's packages.
import { spawnSync } from 'node:child_process'

const UPDATE_SECONDS_MAX = 30
const INSTALL_SECONDS_MAX = 90

/** Null when the packages are there, or could be installed now; else why not. The probe is a command that needs them. */
export function whyMissing(name: string, commands: readonly string[], probe = 'true'): string | null {
  const tests = [...commands.map(command => `command -v ${command}`), probe]
  const found = () => tests.every(test => spawnSync('sh', ['-c', test], { stdio: 'ignore' }).status === 0)
  if (found()) return null
  if (process.getuid?.() !== 0) return `${name} is not installed, and only root may install it`
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // The runlevel asks that no service is started because of us.
  const update = `timeout ${UPDATE_SECONDS_MAX} apt-get update -qq`
  const install = `RUNLEVEL=1 timeout ${INSTALL_SECONDS_MAX} apt-get install -y -qq --no-install-recommends ${name}`
  spawnSync('sh', ['-c', `${update}; ${install}`], { env, stdio: 'ignore' })
  return found() ? null : `${name} is not installed and could not be`
}

/** For figures: says plainly when there is no peer. */
export function hasPackage(name: string, commands: readonly string[]): boolean {
  const reason = whyMissing(name, commands)
  if (reason) console.log(`  ${reason}: no such peer for these figures`)
  return reason === null
}
