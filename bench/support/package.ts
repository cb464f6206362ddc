// Peers come from Debian's packages.
import { spawnSync } from 'node:child_process'
import { note } from './report.ts'

/** Installs the package when it is missing and that is allowed; says plainly when there is no peer. */
export function hasPackage(name: string, commands: readonly string[]): boolean {
  const found = () => commands.every(command => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0)
  if (found()) return true
  if (process.getuid?.() !== 0) {
    note(`${name} is not installed, and only root may install it: no such peer for these figures`)
    return false
  }
  note(`installing ${name}…`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = `apt-get update -qq; apt-get install -y -qq --no-install-recommends ${name}`
  spawnSync('sh', ['-c', install], { env, stdio: 'ignore' })
  if (found()) return true
  note(`${name} could not be installed: no such peer for these figures`)
  return false
}
