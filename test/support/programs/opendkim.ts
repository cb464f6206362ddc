// Throw-away OpenDKIMs that a Postfix asks about every message: one that signs with a key like ours, for figures, and one that
// verifies what we signed.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateDkimKey } from '../../../src/mail/dkim/sign.ts'
import { hasPackage } from './debian.ts'
import { freePort, spawnProgram, stopChild, waitForPort } from './ports.ts'

export const hasOpenDkim = (): boolean => hasPackage('opendkim', ['opendkim'])

interface OpenDkim {
  port: number
  stop(): Promise<void>
}

export const startOpenDkim = (domain: string): Promise<OpenDkim> =>
  start(async folder => {
    const { privateKeyPem } = await generateDkimKey()
    const key = join(folder, 'key.pem')
    await writeFile(key, privateKeyPem)
    await chmod(key, 0o600)
    return {
      Mode: 's',
      Domain: domain,
      Selector: 'bench',
      KeyFile: key,
      Canonicalization: 'relaxed/relaxed',
      InternalHosts: '127.0.0.1',
      // The key lies in a folder of its own below one that everybody may write to.
      RequireSafeKeys: 'no',
    }
  })

/** Writes what it found into Authentication-Results. These records are all the DNS it knows. */
export const startVerifyingOpenDkim = (host: string, records: readonly { name: string; value: string }[]) =>
  start(async folder => {
    const zone = join(folder, 'zone')
    await writeFile(zone, records.map(({ name, value }) => `${name} ${value}\n`).join(''))
    return {
      Mode: 'v',
      AuthservID: host,
      AlwaysAddARHeader: 'yes',
      TestDNSData: `file:${zone}`,
      // Mail of internal hosts is not verified, and without this loopback is one.
      InternalHosts: '192.0.2.1',
    }
  })

async function start(configure: (folder: string) => Promise<Record<string, string>>): Promise<OpenDkim> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-opendkim-'))
  const port = await freePort()
  const settings = { ...(await configure(folder)), Socket: `inet:${port}@127.0.0.1` }
  const file = join(folder, 'opendkim.conf')
  await writeFile(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(''),
  )
  const child = spawnProgram('opendkim', ['-f', '-x', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  await waitForPort(port)
  return {
    port,
    stop: async () => {
      await stopChild(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
