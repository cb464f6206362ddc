// Throw-away Postfixes, each in a folder of its own: the peer of the sending figures with its load generator and sink, and a
// server of somebody else that sends to us and receives from us. Debian's packages; nothing of the machine's own mail set-up is touched.
import { spawn, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { generate } from 'selfsigned'
import { hasPackage } from './debian.ts'
import { freePort, stopChild, waitForPort } from './ports.ts'

export interface Sink {
  port: number
  /** Messages received since it was started. */
  count(): number
  stop(): Promise<void>
}

export interface Postfix {
  port: number
  isQueueEmpty(): Promise<boolean>
  stop(): Promise<void>
}

export const hasPostfix = (): boolean => hasPackage('postfix', ['smtp-source', 'postfix'])

/** smtp-sink, counting what it takes. */
export async function startSink(): Promise<Sink> {
  const port = await freePort()
  const child = spawn('smtp-sink', ['-u', 'nobody', '-c', `127.0.0.1:${port}`, '512'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let last = 0
  // It rewrites one line with the running count.
  const read = (chunk: Buffer): void => {
    const counts = String(chunk).match(/\d+/g)
    if (counts) last = Number(counts.at(-1))
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  await waitForPort(port)
  return { port, count: () => last, stop: () => stopChild(child) }
}

/** With a milter every message passes it before it is queued. */
export const startPostfix = (sinkPort: number, milterPort: number | null = null): Promise<Postfix> =>
  start(folder => mainCf(folder) + relayCf(sinkPort) + (milterPort === null ? '' : milterCf(milterPort)))

/** Delivers mail for these addresses of the domain to Maildirs by its `virtual` agent. */
export const startMaildirPostfix = (domain: string, locals: readonly string[]): Promise<Postfix> =>
  start(async folder => mainCf(folder) + (await maildirs(folder, domain, locals)))

export interface Peer extends Postfix {
  /** Every mail in the Maildir of this address. */
  mailsOf(local: string): Promise<string[]>
  log(): Promise<string>
}

interface PeerOptions {
  port: number
  domain: string
  locals: readonly string[]
  /** Where mail for this domain goes, and nothing else goes anywhere. */
  next: { domain: string; port: number }
  milterPort: number | null
}

/** A server of somebody else: it sends to us and receives from us, both with TLS, and tries again soon. */
export async function startPeerPostfix({ port, domain, locals, next, milterPort }: PeerOptions): Promise<Peer> {
  let home = ''
  const postfix = await start(async folder => {
    home = folder
    const pem = await generate([{ name: 'commonName', value: domain }], { keySize: 2048 })
    await writeFile(join(folder, 'etc', 'tls.pem'), pem.private + pem.cert, { mode: 0o600 })
    const milter = milterPort === null ? '' : milterCf(milterPort)
    return mainCf(folder, domain) + (await maildirs(folder, domain, locals)) + peerCf(folder, next) + milter
  }, port)
  return {
    ...postfix,
    mailsOf: async local => {
      const folder = join(home, 'maildirs', local, 'new')
      const names = await readdir(folder).catch(() => [])
      return Promise.all(names.map(name => readFile(join(folder, name), 'latin1')))
    },
    log: () => readFile(join(home, 'log'), 'utf8'),
  }
}

/** Makes the place, and answers the configuration that delivers there. */
async function maildirs(folder: string, domain: string, locals: readonly string[]): Promise<string> {
  const place = join(folder, 'maildirs')
  await mkdir(place)
  spawnSync('chown', ['nobody', place])
  const mailboxes = locals.map(local => `${local}@${domain} ${local}/\n`).join('')
  await writeFile(join(folder, 'etc', 'mailboxes'), mailboxes)
  return maildirCf(folder, domain)
}

async function start(configure: (folder: string) => string | Promise<string>, wanted?: number): Promise<Postfix> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-postfix-'))
  await chmod(folder, 0o755)
  const port = wanted ?? (await freePort())
  const etc = join(folder, 'etc')
  for (const each of ['etc', 'spool', 'data']) await mkdir(join(folder, each))
  spawnSync('chown', ['postfix', join(folder, 'data')])
  await writeFile(join(etc, 'main.cf'), await configure(folder))
  await writeFile(join(etc, 'master.cf'), masterCf(port))
  const run = (command: string) => spawnSync('postfix', ['-c', etc, command], { encoding: 'utf8' })
  const started = run('start')
  const abort = (): void => void run('abort')
  process.once('exit', abort)
  if (started.status !== 0) throw new Error(`Postfix did not start: ${started.stderr}`)
  await waitForPort(port)
  return {
    port,
    isQueueEmpty: async () => {
      for (const queue of ['incoming', 'active', 'deferred']) {
        const names = await readdir(join(folder, 'spool', queue), { recursive: true, withFileTypes: true })
        if (names.some(entry => entry.isFile())) return false
      }
      return true
    },
    stop: async () => {
      run('stop')
      process.off('exit', abort)
      await delay(500)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** smtp-source: so many messages of 4 KB over so many connections; answers the seconds it took. */
export async function smtpSource(
  port: number,
  { messages, sessions }: { messages: number; sessions: number },
): Promise<number> {
  const args = ['-s', String(sessions), '-m', String(messages), '-l', '4096', '-f', 'a@bench.test', '-t', 'u@sink.test']
  const began = performance.now()
  const child = spawn('smtp-source', [...args, `127.0.0.1:${port}`], { stdio: 'inherit' })
  const code = await new Promise(resolve => child.on('exit', resolve))
  if (code !== 0) throw new Error(`smtp-source ended with ${String(code)}`)
  return (performance.now() - began) / 1000
}

const mainCf = (folder: string, host = 'bench.test'): string => `
compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = ${host}
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
default_process_limit = 100
in_flow_delay = 0
smtpd_recipient_restrictions = permit_mynetworks, reject
maillog_file = ${folder}/log
maillog_file_prefixes = /tmp, /var
alias_maps =
alias_database =
smtputf8_enable = no
`

const relayCf = (sinkPort: number): string => `
relayhost = [127.0.0.1]:${sinkPort}
`

const maildirCf = (folder: string, domain: string): string => `
virtual_mailbox_domains = ${domain}
virtual_mailbox_base = ${folder}/maildirs
virtual_mailbox_maps = texthash:${folder}/etc/mailboxes
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
virtual_minimum_uid = 100
`

const peerCf = (folder: string, next: PeerOptions['next']): string => `
transport_maps = inline:{ { ${next.domain} = smtp:[127.0.0.1]:${next.port} } }
default_transport = error:no other mail leaves here
smtp_tls_security_level = encrypt
smtp_tls_loglevel = 1
smtpd_tls_security_level = may
smtpd_tls_received_header = yes
smtpd_tls_chain_files = ${folder}/etc/tls.pem
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 2s
message_size_limit = 52428800
virtual_mailbox_limit = 0
debug_peer_list = 127.0.0.1
debug_peer_level = 1
`

const milterCf = (port: number): string => `
smtpd_milters = inet:127.0.0.1:${port}
milter_default_action = tempfail
`

const masterCf = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`
