// A throw-away Dovecot in a folder of its own: IMAP and submission with XOAUTH2, whose tokens it asks a local stand-in about.
// Debian's package; nothing of the machine's own mail set-up is touched.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, spawnProgram, stopChild, waitForPort } from './ports.ts'

export interface Dovecot {
  server: { host: string; port: number; secure: boolean }
  /** Where it takes mail to send, with the same tokens; 0 when there is nobody to relay to. */
  submissionPort: number
  /** The token that signs this user in. */
  tokenOf(user: string): string
  /** Puts mails into the user's inbox, or another folder, as a delivery agent does. */
  deliver(user: string, mails: readonly string[], folder?: string): Promise<void>
  /** File names of a folder of the user. */
  list(user: string, folder?: string): Promise<string[]>
  stop(): Promise<void>
}

/** It drops its rights, so it needs some. */
export const hasDovecot = (): boolean =>
  process.getuid?.() === 0 && spawnSync('dovecot', ['--version'], { stdio: 'ignore' }).status === 0

const OWNER = 'nobody'

interface DovecotOptions {
  /** Whose token it is; null for nobody's. */
  userOf?: (token: string) => string | null
  /** Where submitted mail goes. */
  relayPort?: number
}

const userInToken = (token: string): string | null => /^token-of-(.+)$/.exec(token)?.[1] ?? null

export async function startDovecot({ userOf = userInToken, relayPort }: DovecotOptions = {}): Promise<Dovecot> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-dovecot-'))
  await chmod(folder, 0o755)
  for (const each of ['run', 'state', 'mail']) await mkdir(join(folder, each))
  const introspection = createHttpServer((request, response) => {
    let body = ''
    request.on('data', chunk => (body += String(chunk)))
    request.on('end', () => {
      const token =
        new URLSearchParams(body).get('token') ?? new URL(request.url ?? '', 'http://x').searchParams.get('token')
      const email = userOf(token ?? '')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(email ? { active: 'true', email } : { active: 'false' }))
    })
  })
  introspection.listen(0, '127.0.0.1')
  await once(introspection, 'listening')
  const port = await freePort()
  await writeFile(join(folder, 'oauth2.conf'), oauthConf((introspection.address() as AddressInfo).port))
  const submissionPort = relayPort === undefined ? 0 : await freePort()
  const submission = relayPort === undefined ? '' : submissionConf(submissionPort, relayPort)
  await writeFile(join(folder, 'dovecot.conf'), dovecotConf(folder, port) + submission)
  spawnSync('chown', ['-R', OWNER, join(folder, 'mail')])
  const child = spawnProgram('dovecot', ['-F', '-c', join(folder, 'dovecot.conf')], { stdio: 'ignore' })
  await waitForPort(port)
  const maildirOf = (user: string, name = ''): string => join(folder, 'mail', user, 'Maildir', name && `.${name}`)
  let delivered = 0
  return {
    server: { host: '127.0.0.1', port, secure: false },
    submissionPort,
    tokenOf: user => `token-of-${user}`,
    deliver: async (user, mails, name) => {
      const maildir = maildirOf(user, name)
      for (const each of ['cur', 'new', 'tmp']) await mkdir(join(maildir, each), { recursive: true })
      if (name) await writeFile(join(maildir, 'maildirfolder'), '')
      // Owned by the server's user before it sees them.
      const staging = await mkdtemp(join(folder, 'staging-'))
      for (const content of mails) await writeFile(join(staging, nameOf(delivered++)), content)
      spawnSync('chown', ['-R', OWNER, join(folder, 'mail', user), staging])
      spawnSync('sh', ['-c', `find '${staging}' -type f -exec mv -t '${join(maildir, 'new')}' {} +`])
    },
    list: async (user, name) => {
      const maildir = maildirOf(user, name)
      const files = await Promise.all(['new', 'cur'].map(each => readdir(join(maildir, each)).catch(() => [])))
      return files.flat()
    },
    stop: async () => {
      await stopChild(child)
      introspection.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** In its order. Dovecot hashes these names, and those that differ in a number only collide. */
const nameOf = (n: number): string => `${1_700_000_000 + n}.M${n}.${randomBytes(8).toString('hex')}`

const oauthConf = (port: number): string => `
introspection_mode = post
introspection_url = http://127.0.0.1:${port}/introspect
username_attribute = email
active_attribute = active
active_value = true
`

const dovecotConf = (folder: string, port: number): string => `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = xoauth2
mail_max_userip_connections = 2000
default_process_limit = 2000
default_client_limit = 4000
first_valid_uid = 1
passdb {
  driver = oauth2
  mechanisms = xoauth2
  args = ${folder}/oauth2.conf
}
userdb {
  driver = static
  args = uid=${OWNER} gid=nogroup home=${folder}/mail/%u
}
mail_location = maildir:~/Maildir
namespace inbox {
  inbox = yes
  separator = /
  mailbox Sent {
    special_use = \\Sent
    auto = create
  }
  mailbox Trash {
    special_use = \\Trash
    auto = create
  }
  mailbox Junk {
    special_use = \\Junk
    auto = create
  }
  mailbox Archive {
    special_use = \\Archive
    auto = create
  }
}
service imap-login {
  process_min_avail = 1
  service_count = 0
  inet_listener imap {
    address = 127.0.0.1
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
service imap {
  process_limit = 2000
}
service anvil {
  client_limit = 8000
}
service auth {
  client_limit = 8000
}
`

const submissionConf = (port: number, relayPort: number): string => `
protocols = imap submission
hostname = provider.test
submission_relay_host = 127.0.0.1
submission_relay_port = ${relayPort}
submission_relay_ssl = no
service submission-login {
  inet_listener submission {
    address = 127.0.0.1
    port = ${port}
  }
}
`
