// Signed mails and the DNS they are checked against, for tests and measurements.
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { dkimRecord, generateDkimKey, signDkim } from '../dkim/sign.ts'
import { RecentSpf } from './recent-spf.ts'
import type { DnsReply, RecordType, Resolve, Resolvers } from './resolve.ts'
import { runAtOnce } from '../../platform/slices.ts'

type Zone = Record<string, readonly string[] | readonly { host: string; priority: number }[] | 'fails' | 'empty'>

/** Answers from a table by `name TYPE`; what is not in it does not exist. */
export function zoneResolver(zone: Zone): { resolve: Resolve; questions: string[] } {
  const questions: string[] = []
  const resolve = (name: string, type: RecordType): DnsReply => {
    questions.push(`${name} ${type}`)
    const values = zone[`${name.toLowerCase()} ${type}`]
    if (values === 'fails') return { kind: 'failed', code: 'SERVFAIL', reason: 'its name servers failed to answer' }
    if (values === undefined || values === 'empty') return { kind: 'none', isNxdomain: values === undefined }
    return { kind: 'found', values }
  }
  return { resolve, questions }
}

/** Every check asks the same table, without limits. */
export function zoneResolvers(zone: Zone): Resolvers {
  const { resolve } = zoneResolver(zone)
  return { spf: resolve, keys: resolve, dmarc: resolve }
}

export interface Signer {
  key: KeyObject
  record: string
}

export async function anRsaSigner(): Promise<Signer> {
  const pair = await generateDkimKey()
  return { key: createPrivateKey(pair.privateKeyPem), record: dkimRecord(pair.publicKeyBase64) }
}

export function anEd25519Signer(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const bytes = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return { key: privateKey, record: `v=DKIM1; k=ed25519; p=${bytes.toString('base64')}` }
}

export const NOW = new Date('2026-11-16T08:00:00.000Z')

export const aMail = (body = 'Hello world\r\n', from = 'Ann <ann@acme.example>'): Buffer =>
  Buffer.from(
    `From: ${from}\r\nTo: bob@example.net\r\nSubject: Hello\r\nDate: Mon, 16 Nov 2026 07:59:00 +0000\r\n` +
      `Message-ID: <1@acme.example>\r\n\r\n${body}`,
  )

export async function signed(source: Buffer, { key }: Signer, domain = 'acme.example', selector = 's1') {
  const field = await signDkim({ source, domain, selector, key, now: NOW })
  return Buffer.concat([Buffer.from(field, 'latin1'), source])
}

/** Long work without others in between. */
export const atOnce = async <T>(work: Generator<void, T>): Promise<T> => runAtOnce(work)

/** What mail that came now is checked with. */
export const checkedWith = (resolvers: Resolvers) => ({
  resolvers,
  hostname: 'mx.sluice.example',
  now: NOW,
  receivedAt: NOW,
  recentSpf: new RecentSpf(),
  inSlices: atOnce,
})
