// The certificate of the SMTP ports: the operator's own files, or one that the installation signs for itself and
// keeps in DATA_DIR. Key and certificate of the latter live in one file, so that no process ever sees one without the
// other.
import { createPrivateKey, randomBytes, X509Certificate, type KeyObject } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import { linkFirst } from './data-dir.ts'

export interface TlsIdentity {
  /** PEM; the operator's may be a chain. */
  cert: string
  key: string
  isSelfSigned: boolean
}

const KEPT_FILE = 'smtp-tls.pem'
const DAY_MS = 24 * 3_600_000
/** Nobody renews it by hand, and a client that trusts it has pinned it. */
const VALID_DAYS = 3_650
/** Made anew before it ends: a process may run for a month without a restart. */
const RENEW_DAYS = 30

type Needed = Pick<Config, 'TLS_CERT' | 'TLS_KEY' | 'DATA_DIR' | 'MX_HOST'>

/** Throws one line that says which variable is wrong and why. */
export async function loadTlsIdentity(config: Needed, clock: Clock): Promise<TlsIdentity> {
  if (config.TLS_CERT && config.TLS_KEY) return ownIdentity(config.TLS_CERT, config.TLS_KEY)
  return keptIdentity(config.DATA_DIR, config.MX_HOST, clock)
}

async function ownIdentity(certFile: string, keyFile: string): Promise<TlsIdentity> {
  const cert = await readNamed('TLS_CERT', certFile)
  const key = await readNamed('TLS_KEY', keyFile)
  const certificate = parsed('TLS_CERT', certFile, 'a PEM certificate', () => new X509Certificate(cert))
  const privateKey = parsed('TLS_KEY', keyFile, 'a PEM private key without a passphrase', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`TLS_KEY (${keyFile}) is not the key of the first certificate in TLS_CERT (${certFile})`)
  }
  return { cert, key, isSelfSigned: false }
}

async function readNamed(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(`${variable} (${file}) cannot be read: ${code ?? 'unknown error'}`, { cause })
  }
}

function parsed<T extends X509Certificate | KeyObject>(variable: string, file: string, what: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new Error(`${variable} (${file}) does not contain ${what}`, { cause })
  }
}

async function keptIdentity(folder: string, host: string, clock: Clock): Promise<TlsIdentity> {
  const file = join(folder, KEPT_FILE)
  const known = await readKept(file)
  if (known && isUsable(known, host, clock)) return known
  await mkdir(folder, { recursive: true })
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, await selfSigned(host, clock), { mode: 0o600, flush: true })
  if (known) await rename(draft, file)
  else await linkFirst(draft, file)
  const made = await readKept(file)
  if (!made) throw new Error(`${file} contains no key and certificate; remove it, or set TLS_CERT and TLS_KEY`)
  return made
}

async function readKept(file: string): Promise<TlsIdentity | null> {
  try {
    const text = await readFile(file, 'utf8')
    const [key, cert] = [pemBlock(text, 'PRIVATE KEY'), pemBlock(text, 'CERTIFICATE')]
    return key && cert ? { key, cert, isSelfSigned: true } : null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(`${file} cannot be read`, { cause: error })
  }
}

const pemBlock = (text: string, label: string): string | null =>
  new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----\n`).exec(text)?.[0] ?? null

function isUsable({ cert }: TlsIdentity, host: string, clock: Clock): boolean {
  const certificate = new X509Certificate(cert)
  const endsInMs = certificate.validToDate.getTime() - clock.now().getTime()
  return endsInMs > RENEW_DAYS * DAY_MS && certificate.checkHost(host) !== undefined
}

async function selfSigned(host: string, clock: Clock): Promise<string> {
  const now = clock.now().getTime()
  // Needed once in the life of an installation, and large: loaded only then.
  const { generate } = await import('selfsigned')
  const made = await generate([{ name: 'commonName', value: host }], {
    // RSA, although a handshake with P-256 costs a tenth: what the library builds on cannot write an EC certificate.
    keyType: 'rsa',
    keySize: 2048,
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + VALID_DAYS * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: host }] },
    ],
  })
  return `${made.private.trim()}\n${made.cert.trim()}\n`.replaceAll('\r\n', '\n')
}
