// From addresses to a connection on which MAIL can be said: connect, greeting, EHLO, STARTTLS, AUTH. Each address is
// tried in turn; every way to fail leaves as a `Failure`.
import { isIP } from 'node:net'
import { rootCertificates, type ConnectionOptions } from 'node:tls'
import { formatReply, parseReply } from '../../mail/reports/smtp-reply.ts'
import type { Clock } from '../../platform/clock.ts'
import { isLoopback } from '../../platform/net/address-guard.ts'
import { Connection } from './connection.ts'
import { isVouchedFor, presentedChain } from './dane.ts'
import { readExtensions } from './extensions.ts'
import type { Hop, Login } from './next-hops.ts'
import { TOKEN_REFUSED, Failure, type Phase, type Timeouts } from './outcome.ts'
import type { RawReply } from './reply-reader.ts'
import type { TlsPolicy } from './tls-policy.ts'

interface SessionTarget extends Pick<Hop, 'host' | 'port' | 'auth' | 'isImplicitTls'> {
  addresses: readonly string[]
  policy: TlsPolicy
  /** Asked about the address that the socket is really connected to. */
  mayConnect: (address: string) => boolean
  onConnectFailed: (address: string, failure: Failure) => void
  /** Sees each connection as soon as there is a socket, so that all can be closed. */
  onSocket: (connection: Connection) => void
}

export interface SessionSettings {
  helloName: string
  timeouts: Timeouts
  clock: Clock
  /** Certificates to trust besides the usual ones: an installation's own authority. */
  trusted: readonly string[]
}

export async function openSession(target: SessionTarget, settings: SessionSettings): Promise<Connection> {
  let failed: Failure | null = null
  for (const address of target.addresses) {
    try {
      return await openAt(address, target, settings)
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      if (failure.phase === 'connect') target.onConnectFailed(address, failure)
      // What may get better is worth more than a final no: another address of the same host may have said it.
      if (!failed || (failed.isPermanent && !failure.isPermanent)) failed = failure
    }
  }
  throw failed ?? new Failure({ phase: 'dns', reason: 'has no address' })
}

async function openAt(address: string, target: SessionTarget, settings: SessionSettings): Promise<Connection> {
  try {
    return await converse(address, target, settings, { mayEncrypt: true })
  } catch (failure) {
    // Encryption that nobody demanded must not stop mail that would have gone in clear text without it (RFC 7435 §3).
    if (!(failure instanceof HandshakeFailure) || target.policy.kind !== 'opportunistic') throw failure
    return await converse(address, target, settings, { mayEncrypt: false })
  }
}

/** TLS was tried and broke the connection. */
class HandshakeFailure extends Failure {}

async function converse(
  address: string,
  target: SessionTarget,
  settings: SessionSettings,
  { mayEncrypt }: { mayEncrypt: boolean },
): Promise<Connection> {
  const connection = new Connection({ host: target.host, address, port: target.port })
  target.onSocket(connection)
  try {
    await connection.connected(settings.timeouts.connectMs)
    if (!target.mayConnect(connection.remoteAddress)) {
      throw new Failure({
        phase: 'connect',
        reason: 'is at an address that mail must not be sent to',
        isPermanent: true,
      })
    }
    if (target.isImplicitTls) await secure(connection, target, settings)
    accept(await connection.read('greeting', settings.timeouts.greetingMs), 'greeting')
    await greet(connection, settings)
    if (mayEncrypt) await encrypt(connection, target, settings)
    if (!connection.isTls && target.policy.kind !== 'opportunistic') {
      throw new Failure({ phase: 'tls', reason: 'does not offer the encryption that this mail requires' })
    }
    if (target.auth) await authenticate(connection, target.auth, settings)
    connection.policyKey = target.policy.key
    return connection
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : 'failed'
    // A refusal is answered with goodbye; after anything else the state of the conversation is unknown.
    if (failure instanceof Failure && failure.reply) connection.quit(settings.timeouts.quitMs)
    else connection.destroy(reason)
    throw failure
  }
}

/** EHLO, and HELO where that is not known (RFC 5321 §3.2). */
async function greet(connection: Connection, { helloName, timeouts }: SessionSettings): Promise<void> {
  const ehlo = await ask(connection, `EHLO ${helloName}`, 'hello', timeouts)
  if (ehlo.code >= 500) accept(await ask(connection, `HELO ${helloName}`, 'hello', timeouts), 'hello')
  else connection.extensions = readExtensions(accept(ehlo, 'hello').text)
}

async function encrypt(connection: Connection, target: SessionTarget, settings: SessionSettings): Promise<void> {
  if (connection.isTls || !connection.extensions.startTls) return
  const { timeouts } = settings
  const answer = await ask(connection, 'STARTTLS', 'tls', timeouts)
  // 454: not just now (RFC 3207 §4). The connection stays as it was, which is enough unless encryption is required.
  if (answer.code !== 220) return
  await secure(connection, target, settings)
  // What was said before encryption is forgotten and asked again (RFC 3207 §4.2).
  await greet(connection, settings)
}

async function secure(connection: Connection, target: SessionTarget, settings: SessionSettings): Promise<void> {
  try {
    const socket = await connection.secure(tlsOptions(target, settings), settings.timeouts.commandMs)
    if (target.policy.kind === 'dane') {
      const chain = presentedChain(socket.getPeerCertificate(true))
      const names = [target.policy.name, target.host]
      if (!isVouchedFor(target.policy.records, { chain, names, now: settings.clock.now() })) {
        throw new Failure({ phase: 'tls', reason: 'shows a certificate that its TLSA records do not vouch for' })
      }
    }
  } catch (failure) {
    throw new HandshakeFailure({ phase: 'tls', reason: failure instanceof Error ? failure.message : 'failed in TLS' })
  }
}

function tlsOptions({ host, policy }: SessionTarget, { trusted }: SessionSettings): ConnectionOptions {
  const options: ConnectionOptions = { rejectUnauthorized: policy.kind === 'verified' }
  const name = policy.kind === 'dane' ? policy.name : host
  if (isIP(name) === 0) options.servername = name
  if (trusted.length > 0) options.ca = [...rootCertificates, ...trusted]
  return options
}

async function authenticate(connection: Connection, login: Login, { timeouts }: SessionSettings): Promise<void> {
  if (!connection.isTls && !isLoopback(connection.remoteAddress)) {
    throw new Failure({ phase: 'auth', reason: 'offers no encryption, and our password is not sent in clear text' })
  }
  const steps = stepsOf(login, connection.extensions.auth)
  for (const [index, step] of steps.entries()) {
    const reply = await ask(connection, step, 'auth', timeouts)
    const isLast = index === steps.length - 1
    if (isLast ? reply.code === 235 : reply.code === 334) continue
    // Why a token is refused stands in a challenge, which is answered with an empty line (RFC 7628 §3.2.3).
    const isChallenge = 'accessToken' in login && reply.code === 334
    const final = isChallenge ? await ask(connection, '', 'auth', timeouts) : reply
    // Not a refusal of the mail: the login is wrong, and no one's message may bounce for that.
    const isTokenRefused = 'accessToken' in login && final.code >= 500
    const said = withoutSecrets(formatReply(parseReply(final.text)), login, steps)
    const reason = `refused our credentials: ${said}`
    throw new Failure({ phase: 'auth', reason, ...(isTokenRefused && { code: TOKEN_REFUSED }) })
  }
}

/** Servers repeat what they refuse, whole or in part, and the reason is shown to everybody whose mail waits for it. */
function withoutSecrets(text: string, login: Login, steps: readonly string[]): string {
  const secret = 'pass' in login ? login.pass : login.accessToken
  const sent = steps.map(step => step.replace(/^AUTH \S+ ?/, '').toLowerCase()).filter(step => step !== '')
  return text
    .replaceAll(secret, '***')
    .replaceAll(/[a-z0-9+/=]{6,}/gi, run =>
      sent.some(step => step.includes(run.toLowerCase()) || run.toLowerCase().includes(step)) ? '***' : run,
    )
}

/** Of the command: RFC 4616, RFC 4954; LOGIN was never more than a draft and is still all that some relays know. */
function stepsOf(login: Login, offered: readonly string[]): string[] {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const { user } = login
  if ('accessToken' in login) {
    if (!offered.includes('XOAUTH2')) throw new Failure({ phase: 'auth', reason: 'does not offer AUTH XOAUTH2' })
    return [`AUTH XOAUTH2 ${base64(`user=${user}\u0001auth=Bearer ${login.accessToken}\u0001\u0001`)}`]
  }
  if (offered.includes('PLAIN')) return [`AUTH PLAIN ${base64(`\0${user}\0${login.pass}`)}`]
  if (offered.includes('LOGIN')) return ['AUTH LOGIN', base64(user), base64(login.pass)]
  throw new Failure({ phase: 'auth', reason: 'offers neither AUTH PLAIN nor AUTH LOGIN' })
}

async function ask(connection: Connection, command: string, phase: Phase, timeouts: Timeouts): Promise<RawReply> {
  connection.write(`${command}\r\n`, 1)
  return await connection.read(phase, timeouts.commandMs)
}

function accept(reply: RawReply, phase: Phase): RawReply {
  if (reply.code < 300) return reply
  if (reply.code >= 400) throw Failure.ofReply(phase, parseReply(reply.text))
  throw new Failure({ phase, reason: `answered ${formatReply(parseReply(reply.text))}` })
}
