// A real browser for tests: Chromium that the machine has, or that its package manager gives. Without one, tests that need it
// are skipped with one line that says why.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { chromium, type Browser } from 'playwright-core'
import { atFileEnd } from './file-end.ts'

const PLACES = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const PACKAGE = 'chromium-headless-shell'
const INSTALL_MS_MAX = 180_000

let launched: Promise<Browser> | null = null

/** The browser of this file; null where there is none, and the test is skipped. */
export async function aBrowser(t: TestContext): Promise<Browser | null> {
  const executablePath = findChromium() ?? installChromium()
  if (!executablePath) {
    t.skip(`no Chromium: set CHROMIUM_PATH, or install the package ${PACKAGE}`)
    return null
  }
  if (!launched) {
    // Chromium's own sandbox needs a user that is not root.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
    launched = chromium.launch({ executablePath, args })
    atFileEnd(closeBrowser)
  }
  return launched
}

async function closeBrowser(): Promise<void> {
  const browser = await launched?.catch(() => null)
  launched = null
  await browser?.close()
}

const findChromium = (): string | null => PLACES.find(place => place && existsSync(place)) ?? null

/** Where it may: as root on a system with apt. Another file that installs it meanwhile is waited for. */
function installChromium(): string | null {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return null
  const options = {
    timeout: INSTALL_MS_MAX,
    stdio: 'ignore',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  } as const
  const install = ['-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends', PACKAGE]
  try {
    execFileSync('apt-get', install, options)
  } catch {
    return null
  }
  return findChromium()
}
