// The signing peer: a throw-away OpenDKIM that Postfix asks about every message, with a key like ours.
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateDkimKey } from '../../../src/mail/dkim/sign.ts'
import { hasPackage } from './debian.ts'
import { freePort, stopChild, waitForPort } from './ports.ts'

export const hasOpenDkim = (): boolean => hasPackage('opendkim', ['opendkim'])

export async function startOpenDkim(domain: string): Promise<{ port: number; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-opendkim-'))
  const port = await freePort()
  const { privateKeyPem } = await generateDkimKey()
  const key = join(folder, 'key.pem')
  await writeFile(key, privateKeyPem)
  await chmod(key, 0o600)
  const settings = {
    Mode: 's',
    Domain: domain,
    Selector: 'bench',
    KeyFile: key,
    Canonicalization: 'relaxed/relaxed',
    InternalHosts: '127.0.0.1',
    // The key lies in a folder of its own below one that everybody may write to.
    RequireSafeKeys: 'no',
    Socket: `inet:${port}@127.0.0.1`,
  }
  const file = join(folder, 'opendkim.conf')
  await writeFile(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(''),
  )
  const child = spawn('opendkim', ['-f', '-x', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  await waitForPort(port)
  return {
    port,
    stop: async () => {
      await stopChild(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
