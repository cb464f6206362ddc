// Runs before every npm script, on whatever Node the machine has: installs the dependencies when the lock file says that
// they are missing or old, and makes sure that the Node that will run the rest is new enough.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NODE_MIN = [24, 12]
/** An install that is older than this was killed; its lock is nobody's. */
const LOCK_MS_MAX = 15 * 60_000

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..')
const stampFile = join(root, 'node_modules', '.sluice-install')
const lockFolder = join(root, '.install-lock')
const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform}-${process.arch}`)
  .digest('hex')

if (!isInstalled()) withLock(install)
checkNode()

function isInstalled() {
  try {
    return readFileSync(stampFile, 'utf8') === wanted
  } catch {
    return false
  }
}

function install() {
  if (isInstalled()) return
  console.log('Installing dependencies…')
  // `npm ci` fails where the binding of another platform is absent from the registry; `npm install` passes it over.
  const first = npm(['ci'])
  const result = first.status === 0 ? first : npm(['install'])
  if (result.status !== 0) {
    console.error(result.output)
    fail('The dependencies could not be installed; npm says why above.')
  }
  writeFileSync(stampFile, wanted)
}

function npm(args) {
  // The Node that runs this may itself lie in node_modules, which `npm ci` deletes: let npm use the machine's own.
  const path = (process.env.PATH ?? '').split(delimiter).filter(entry => !entry.includes('node_modules'))
  const { status, stdout, stderr, error } = spawnSync(
    'npm',
    [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      env: { ...process.env, PATH: path.join(delimiter) },
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      shell: process.platform === 'win32',
    },
  )
  return { status, output: `${stdout ?? ''}${stderr ?? ''}${error ? String(error) : ''}` }
}

/** Two commands started at once must not install into the same folder. */
function withLock(run) {
  for (;;) {
    try {
      mkdirSync(lockFolder)
      break
    } catch (error) {
      if (error.code !== 'EEXIST')
        fail(`The project folder cannot be written to (${error.code}): install as its owner first.`)
      if (isAbandoned()) rmSync(lockFolder, { recursive: true, force: true })
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    }
  }
  try {
    writeFileSync(join(lockFolder, 'pid'), String(process.pid))
    run()
  } finally {
    rmSync(lockFolder, { recursive: true, force: true })
  }
}

function isAbandoned() {
  try {
    const age = Date.now() - statSync(lockFolder).mtimeMs
    if (age > LOCK_MS_MAX) return true
    const pid = Number(readFileSync(join(lockFolder, 'pid'), 'utf8'))
    process.kill(pid, 0)
    return false
  } catch (error) {
    // No such process. A lock without a pid yet, or one of another user, is in use.
    return error.code === 'ESRCH'
  }
}

function checkNode() {
  const pinned = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')
  const version = existsSync(pinned)
    ? spawnSync(pinned, ['--version'], { encoding: 'utf8', shell: process.platform === 'win32' }).stdout
    : process.version
  const [major, minor] = String(version).replace(/^v/, '').split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return
  fail(
    `Sluice needs Node ${NODE_MIN.join('.')} or newer; this is ${String(version).trim()}. Install it from your package manager.`,
  )
}

function fail(message) {
  console.error(`sluice: ${message}`)
  process.exit(1)
}
