/**
 * Makes sure that node_modules is what package-lock.json says, and that a Node.js new enough for Sluice is there. Runs
 * before every npm script, so it must be quick when there is nothing to do, and plain JavaScript for any Node.js from
 * 18 on.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MODULES = join(ROOT, 'node_modules')
const STAMP = join(MODULES, '.sluice-install')
// Not in node_modules, which `npm ci` deletes.
const LOCK = join(ROOT, '.install-lock')
const NODE_MIN = [24, 12]

const LOCK_POLL_MS = 200
const LOCK_WAIT_MAX_MS = 15 * 60_000
// Between making the lock and writing into it whose it is lies a moment.
const LOCK_UNSIGNED_MAX_MS = 5_000

const NPM_OPTIONS = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  // What is installed must not depend on NODE_ENV: Node.js itself is an optional package, and the tests need the rest.
  '--include=dev',
  '--include=optional',
  // npm may run on an older Node.js than Sluice needs; the packaged one is for that, so no reason to warn or refuse.
  '--engine-strict=false',
  '--loglevel=error',
]
// Where another platform's optional package is missing, `npm ci` fails and `npm install` does not. Against these
// troubles it would not help either.
const HOPELESS =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EACCES|EPERM|EROFS|ENOSPC|E401|E403)\b|^npm could not be run/

await main()

async function main() {
  const lockFile = readFileSync(join(ROOT, 'package-lock.json'))
  const stamp = `${createHash('sha256').update(lockFile).digest('hex')} ${process.platform} ${process.arch}\n`
  if (!isUpToDate(stamp, lockFile)) {
    await takeLock()
    try {
      // Another process may have done it while we waited.
      if (!isUpToDate(stamp, lockFile)) await install(stamp)
    } finally {
      releaseLock()
    }
  }
  checkNode()
}

function isUpToDate(stamp, lockFile) {
  if (readOrEmpty(STAMP) === stamp) return true
  return isInstalledByNpm(JSON.parse(lockFile.toString('utf8')))
}

/**
 * True when somebody ran npm themselves, as in building an image, and what npm noted down as installed is what we
 * want. Packages for development may be missing where only the server is to be started.
 */
function isInstalledByNpm(wanted) {
  const note = readOrEmpty(join(MODULES, '.package-lock.json'))
  if (note === '') return false
  const installed = JSON.parse(note).packages ?? {}
  const isServerOnly = process.env['npm_lifecycle_event'] === 'prestart'
  return Object.entries(wanted.packages).every(([path, entry]) => {
    if (!path.includes('node_modules/')) return true
    const found = installed[path]
    if (found) return found.version === entry.version
    return (isServerOnly && (entry.dev || entry.devOptional)) || (entry.optional && !isForThisPlatform(entry))
  })
}

function isForThisPlatform({ os, cpu, libc }) {
  // Which libc this is takes long to find out; npm knew and left out the wrong one.
  return fits(os, process.platform) && fits(cpu, process.arch) && !libc
}

/** By the rules of package.json: a name or several, which are either those allowed or, with a `!`, those excluded. */
function fits(names, value) {
  const list = names === undefined ? [] : [names].flat()
  if (list.length === 0 || list.includes(value)) return true
  return list.every(name => name.startsWith('!') && name !== `!${value}`)
}

async function install(stamp) {
  console.error('Installing dependencies…')
  // Half an installation must not pass for a whole one.
  rmSync(STAMP, { force: true })
  let { ok, output } = await runNpm(['ci', ...NPM_OPTIONS])
  if (!ok && !HOPELESS.test(output)) {
    const second = await runNpm(['install', '--no-save', ...NPM_OPTIONS])
    ok = second.ok
    output += second.output
  }
  if (!ok) fail('The dependencies could not be installed; npm says why above. Then run the same command again.', output)
  removeUnusableNode()
  writeFileSync(STAMP, stamp)
}

function runNpm(args) {
  return new Promise(resolve => {
    const npm = spawn('npm', args, {
      cwd: ROOT,
      env: { ...process.env, PATH: pathWithoutModules() },
      stdio: ['ignore', 'pipe', 'pipe'],
      // On Windows npm is a script for its shell.
      shell: process.platform === 'win32',
    })
    let output = ''
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', chunk => (output += chunk))
    npm.on('error', cause => resolve({ ok: false, output: `npm could not be run: ${cause.message}\n` }))
    npm.on('close', code => resolve({ ok: code === 0, output }))
  })
}

/** npm must not run on the Node.js inside node_modules, which it is about to delete. */
function pathWithoutModules() {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.filter(folder => !folder.replace(/[\\/]+$/, '').endsWith(`node_modules${sep}.bin`)).join(delimiter)
}

/** The packaged Node.js needs glibc. Where it does not run but the machine's own will do, npm scripts shall find that. */
function removeUnusableNode() {
  const packaged = packagedNode()
  if (packaged && !isNewEnough(versionOf(packaged)) && isNewEnough(process.version)) rmSync(packaged)
}

function checkNode() {
  if (isNewEnough(process.version)) return
  const packaged = packagedNode()
  if (packaged && isNewEnough(versionOf(packaged))) return
  const needs = `Sluice needs Node.js ${NODE_MIN.join('.')} or newer`
  if (packaged)
    fail(`${needs}. The one it brings along does not run on this system: install it from https://nodejs.org.`)
  fail(`${needs}, and this is ${process.version}: install it from https://nodejs.org and run the same command again.`)
}

/** Where npm scripts find the Node.js that is among our dependencies, or null where there is none for this platform. */
function packagedNode() {
  const path = join(MODULES, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')
  return existsSync(path) ? path : null
}

function versionOf(node) {
  const isWindows = process.platform === 'win32'
  return spawnSync(isWindows ? `"${node}"` : node, ['--version'], { encoding: 'utf8', shell: isWindows }).stdout ?? ''
}

function isNewEnough(version) {
  const [, major, minor] = (/^v(\d+)\.(\d+)\./.exec(version) ?? []).map(Number)
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
}

async function takeLock() {
  const waitEnds = performance.now() + LOCK_WAIT_MAX_MS
  let hasWaited = false
  while (!tryLock()) {
    if (isLockStale()) {
      discardLock()
      continue
    }
    if (!hasWaited) console.error('Waiting for another installation to finish…')
    hasWaited = true
    if (performance.now() > waitEnds) fail(`Another installation does not finish. If there is none, delete ${LOCK}.`)
    await sleep(LOCK_POLL_MS)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => {
      releaseLock()
      process.exit(1)
    })
  }
}

function tryLock() {
  try {
    mkdirSync(LOCK)
  } catch (cause) {
    if (cause.code === 'EEXIST') return false
    fail(`The dependencies must be installed, but ${ROOT} cannot be written to (${cause.code}). Run this as its owner.`)
  }
  writeFileSync(join(LOCK, 'pid'), String(process.pid))
  return true
}

function isLockStale() {
  const pid = Number(readOrEmpty(join(LOCK, 'pid')))
  if (!pid) {
    const made = statSync(LOCK, { throwIfNoEntry: false })
    return made !== undefined && performance.timeOrigin + performance.now() - made.mtimeMs > LOCK_UNSIGNED_MAX_MS
  }
  try {
    process.kill(pid, 0)
  } catch (cause) {
    return cause.code === 'ESRCH'
  }
  // The id may have passed to another program since.
  const command = readOrEmpty(`/proc/${pid}/cmdline`)
  return command !== '' && !command.includes('install.mjs')
}

/** Renamed first, which only one of several can do. */
function discardLock() {
  const aside = join(LOCK, '..', `.install-lock-${process.pid}`)
  try {
    renameSync(LOCK, aside)
    rmSync(aside, { recursive: true, force: true })
  } catch (cause) {
    if (cause.code !== 'ENOENT') throw cause
  }
}

function releaseLock() {
  if (readOrEmpty(join(LOCK, 'pid')) === String(process.pid)) rmSync(LOCK, { recursive: true, force: true })
}

function fail(message, output = '') {
  if (output) console.error(output.trimEnd())
  console.error(message)
  releaseLock()
  process.exit(1)
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
