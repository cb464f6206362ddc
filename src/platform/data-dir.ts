// Secrets that this installation makes for itself and keeps in DATA_DIR, mode 0600. Two processes starting together end
// up with the same value: the file is linked into place, and the first one wins.
import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The secret kept in this file, made now when there is none. */
export async function keptSecret(folder: string, name: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, name)
  const known = await readIfPresent(file)
  if (known) return known
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flush: true })
  await linkFirst(draft, file)
  const made = await readIfPresent(file)
  if (!made) throw new Error(`${file} is empty; remove it, or set the variable it stands for`)
  return made
}

/** Of two processes that start together the first one's file stays, and both read that. */
export async function linkFirst(draft: string, file: string): Promise<void> {
  await link(draft, file).catch(error => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
  await rm(draft)
}

async function readIfPresent(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
