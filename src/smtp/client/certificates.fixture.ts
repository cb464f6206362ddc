// Certificates for tests: two authorities that know nothing of each other, and hosts' certificates signed by them.
import { generateKeyPairSync } from 'node:crypto'
import { generate } from 'selfsigned'

export interface Certified {
  key: string
  cert: string
}

interface KeyPair {
  privateKey: string
  publicKey: string
}

// The time goes into making keys, so all certificates of a process share two pairs: one for authorities, one for hosts.
const pairs = new Map<string, KeyPair>()
function pairOf(whose: 'authority' | 'host'): KeyPair {
  const existing = pairs.get(whose)
  if (existing) return existing
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  pairs.set(whose, pair)
  return pair
}

export async function anAuthority(name = 'Test Authority', keyPair = pairOf('authority')): Promise<Certified> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    algorithm: 'sha256',
    keyPair,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  return { key, cert }
}

/** Goes by a name that belongs to another, with a key of its own. */
export const anImpostor = (name: string): Promise<Certified> => anAuthority(name, pairOf('host'))

/** For the given names; self-signed without an authority. The chain is sent along with the certificate. */
export async function aCertificate(names: string[], authority?: Certified, until?: Date): Promise<Certified> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: names[0]! }], {
    algorithm: 'sha256',
    keyPair: pairOf('host'),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: names.map(value => ({ type: 2 as const, value })) },
    ],
    ...(authority ? { ca: authority } : {}),
    ...(until ? { notBeforeDate: new Date(until.getTime() - 86_400_000), notAfterDate: until } : {}),
  })
  return { key, cert: authority ? `${cert.trim()}\n${authority.cert}` : cert }
}
