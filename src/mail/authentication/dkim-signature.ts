// A DKIM-Signature field, or the ARC-Message-Signature that shares its form, read and checked by RFC 6376 §3.5 and §6.1.1.
import { domainToASCII } from 'node:url'
import { fieldValue, type RawField } from './header-fields.ts'

type Canonicalisation = 'simple' | 'relaxed'

export interface DkimSignature {
  field: RawField
  /** Lower-case ASCII; empty when the field has none that can be read. */
  domain: string
  selector: string
  algorithm: 'rsa' | 'ed25519'
  headerForm: Canonicalisation
  bodyForm: Canonicalisation
  /** Lower-case names in the order in which they are signed. */
  names: string[]
  bodyHash: string
  signature: Buffer
  /** How much of the body is signed; null is all of it. */
  bodyLength: number | null
  expires: number | null
  /** The domain of `i=`, where it is given. */
  identityDomain: string | null
}

/** What cannot be used, and why. */
interface UnusableSignature {
  domain: string
  selector: string
  /** `policy` is what we do not accept although it may be valid. */
  result: 'neutral' | 'policy'
}

const NAMES_MAX = 1_000

/** `seal` reads an ARC-Message-Signature: no version, and `i=` is its instance. */
export function readSignature(field: RawField, kind: 'signature' | 'seal'): DkimSignature | UnusableSignature {
  const { tags, isWellFormed } = readTags(fieldValue(field))
  const domain = asciiName(tags.get('d') ?? '')
  const selector = asciiName(tags.get('s') ?? '')
  const unusable = (result: 'neutral' | 'policy'): UnusableSignature => ({ domain, selector, result })
  if (!isWellFormed || REQUIRED.some(name => !tags.has(name))) return unusable('neutral')
  if (kind === 'signature' && tags.get('v') !== '1') return unusable('neutral')
  const algorithm = /^(rsa|ed25519)-(sha256|sha1)$/i.exec(tags.get('a')!)
  const forms = /^(simple|relaxed)(?:\/(simple|relaxed))?$/i.exec(tags.get('c') ?? 'simple/simple')
  if (!algorithm || !forms || !DOMAIN.test(domain) || !SELECTOR.test(selector)) return unusable('neutral')
  const names = (tags.get('h') ?? '').split(':').map(name => name.trim().toLowerCase())
  const signed = names.filter(name => name !== '')
  // What does not sign From says nothing about the author (RFC 6376 §6.1.1).
  if (!signed.includes('from') || names.length > NAMES_MAX) return unusable('neutral')
  if (!hasValidNumbers(tags) || !allowsDns(tags.get('q'))) return unusable('neutral')
  const identityDomain = kind === 'signature' ? readIdentity(tags.get('i'), domain) : null
  if (identityDomain === false) return unusable('neutral')
  // RFC 8301 §3.1: rsa-sha1 must not be used for verifying; there never was an ed25519-sha1.
  if (algorithm[2]!.toLowerCase() === 'sha1') {
    return unusable(algorithm[1]!.toLowerCase() === 'rsa' && kind === 'signature' ? 'policy' : 'neutral')
  }
  return {
    field,
    domain,
    selector,
    algorithm: algorithm[1]!.toLowerCase() as 'rsa' | 'ed25519',
    headerForm: forms[1]!.toLowerCase() as Canonicalisation,
    bodyForm: (forms[2] ?? 'simple').toLowerCase() as Canonicalisation,
    names: signed,
    bodyHash: tags.get('bh')!.replaceAll(/\s/g, ''),
    signature: Buffer.from(tags.get('b')!.replaceAll(/\s/g, ''), 'base64'),
    bodyLength: tags.has('l') ? Number(tags.get('l')) : null,
    expires: tags.has('x') ? Number(tags.get('x')) : null,
    identityDomain,
  }
}

const REQUIRED = ['a', 'b', 'bh', 'd', 'h', 's']
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})+$`)
const SELECTOR = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)

/** A tag list (RFC 6376 §3.2): names are case-sensitive, a name that comes twice makes the whole list invalid. */
export function readTags(text: string): { tags: Map<string, string>; isWellFormed: boolean } {
  const tags = new Map<string, string>()
  let isWellFormed = true
  const parts = text.split(';')
  for (const [index, part] of parts.entries()) {
    const equals = part.indexOf('=')
    const name = part.slice(0, Math.max(equals, 0)).trim()
    if (part.trim() === '' && index === parts.length - 1 && index > 0) continue
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || tags.has(name)) isWellFormed = false
    tags.set(
      name,
      part
        .slice(equals + 1)
        .replaceAll(/[ \t\r\n]+/g, ' ')
        .trim(),
    )
  }
  return { tags, isWellFormed }
}

function hasValidNumbers(tags: Map<string, string>): boolean {
  if (['t', 'x'].some(name => tags.has(name) && !/^\d{1,12}$/.test(tags.get(name)!))) return false
  if (tags.has('l') && !/^\d{1,76}$/.test(tags.get('l')!)) return false
  // It would have expired before it was made.
  return !(tags.has('t') && tags.has('x')) || Number(tags.get('x')) > Number(tags.get('t'))
}

const allowsDns = (methods: string | undefined): boolean =>
  methods === undefined || methods.split(':').some(method => method.trim().toLowerCase() === 'dns/txt')

/** The domain of the agent or user; null when there is none, false when it is not within the signing domain. */
function readIdentity(value: string | undefined, domain: string): string | null | false {
  if (value === undefined) return null
  const decoded = value.replaceAll(/\s/g, '').replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => byteOf(hex))
  const at = decoded.lastIndexOf('@')
  if (at === -1 || !LOCAL_PART.test(decoded.slice(0, at))) return false
  const identity = asciiName(decoded.slice(at + 1))
  return DOMAIN.test(identity) && (identity === domain || identity.endsWith(`.${domain}`)) ? identity : false
}

const byteOf = (hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
const ATOM = "[\\w!#$%&'*+\\-/=?^`{|}~\\x80-\\xff]+"
const LOCAL_PART = new RegExp(`^(?:${ATOM}(?:\\.${ATOM})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")?$`)

/** Names outside ASCII stand in the header as UTF-8, which was read as latin1. */
function asciiName(name: string): string {
  if (/^[\x21-\x7e]*$/.test(name)) return name.toLowerCase()
  return domainToASCII(Buffer.from(name, 'latin1').toString('utf8')).toLowerCase()
}
