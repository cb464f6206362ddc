// Senders that look like somebody else: a name that shows another address or a known brand, a domain written in letters that
// only look like it, a domain one slip away from our own or from one that we write to. And answers that go elsewhere.
import { domainToUnicode } from 'node:url'
import { organisationOf } from '../../mail/address/organisation.ts'
import type { Mailbox } from '../../mail/mime/parsed-mail.ts'
import { BRANDS, FREE_MAIL, SERVICE_WORDS } from './brands.ts'
import { LATIN_TWIN, skeleton } from './confusables.ts'
import { finding, type Finding } from './finding.ts'
import { normalise } from './normalise.ts'

const MAILBOXES_MAX = 20

/** What the mail alone tells. */
export function inspectSenders(from: readonly Mailbox[], replyTo: readonly Mailbox[]): Finding[] {
  const senders = from.slice(0, MAILBOXES_MAX)
  const seen = senders.flatMap(sender => [shownAddress(sender), shownBrand(sender), oddDomain(sender)])
  return [
    ...seen.filter(each => each !== null).map(each => finding('lookalike_sender', 'from', each)),
    ...answersElsewhere(senders, replyTo),
  ]
}

/** What the mailbox adds: its own domain, and those that it writes to. Known senders themselves are not compared. */
export function inspectAgainstKnown(from: Mailbox, known: readonly string[]): Finding[] {
  const domain = domainOf(from.address)
  if (domain === '') return []
  const own = organisationOf(domain)
  const others = new Set(known.map(organisationOf))
  if (others.has(own)) return []
  const name = normalise(from.name)
  for (const other of others) {
    if (other === '' || FREE_MAIL.has(other)) continue
    if (areConfusable(own, other)) return [finding('lookalike_sender', 'from', `${domain} looks like ${other}`)]
    if (containsDomain(name, other)) {
      return [
        finding('lookalike_sender', 'from', `the name “${from.name}” shows ${other}, the address is ${from.address}`),
      ]
    }
  }
  return []
}

export const domainOf = (address: string): string =>
  address
    .slice(address.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/\.$/, '')

/** `"boss@acme.example" <x@evil.example>`: many readers show the name alone. */
function shownAddress({ name, address }: Mailbox): string | null {
  const plain = name.normalize('NFKC').toLowerCase()
  const shown = /[\p{L}\p{N}._%+-]{1,64}\s?@\s?([\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8})/u.exec(plain)
  if (!shown || organisationOf(shown[1]!) === organisationOf(domainOf(address))) return null
  return `the name shows ${shown[0]}, the address is ${address}`
}

const BRAND_NAMES = Object.keys(BRANDS)

function shownBrand({ name, address }: Mailbox): string | null {
  const domain = organisationOf(domainOf(address))
  const words = normalise(name)
    .replaceAll(/[^\p{L}\p{N}&]+/gu, ' ')
    .trim()
  if (words === '') return null
  const spaced = ` ${words} `
  const brand = BRAND_NAMES.find(each => {
    const rest = spaced.includes(` ${each} `) ? spaced.replace(` ${each} `, ' ').trim() : null
    // A name with other words in it, as of a person or a shop, is no pretence.
    return rest !== null && rest.split(' ').every(word => word === '' || SERVICE_WORDS.has(word))
  })
  if (brand === undefined || belongsTo(domain, brand)) return null
  return `the name “${name}” is that of ${brand}, the address is ${address}`
}

function belongsTo(domain: string, brand: string): boolean {
  const label = domain.split('.')[0]!
  return label === brand.replaceAll(' ', '') || label === brand.replaceAll(' ', '-') || BRANDS[brand]!.includes(domain)
}

/** Brands long enough for a slip to be no accident. */
const SLIPPED: readonly Look[] = BRAND_NAMES.filter(brand => brand.length >= 5 && !brand.includes(' ')).map(lookOf)

/** Letters of other scripts among Latin ones, or a domain that is a brand's but for a slip. */
function oddDomain({ address }: Mailbox): string | null {
  const domain = domainOf(address)
  const own = organisationOf(domain)
  const unicode = domainToUnicode(own)
  const label = unicode.split('.')[0] ?? ''
  if (/\P{ASCII}/u.test(label)) {
    const isMixed = /[a-z]/.test(label) && Array.from(label).some(char => LATIN_TWIN.has(char))
    const isImitation = Array.from(label).every(char => LATIN_TWIN.has(char) || /[a-z0-9-]/.test(char))
    if (isMixed || isImitation) return `${own} is written with letters that only look Latin: ${unicode}`
  }
  const looks = skeleton(label)
  const { name: brand } = SLIPPED.find(each => isSlip({ name: label, looks }, each) && !belongsTo(own, each.name)) ?? {}
  return brand === undefined ? null : `${domain} looks like ${brand}`
}

const areConfusable = (own: string, other: string): boolean => {
  const [label = '', ...suffix] = domainToUnicode(own).split('.')
  const [otherLabel = '', ...otherSuffix] = domainToUnicode(other).split('.')
  if (label === otherLabel) return false
  const [look, otherLook] = [lookOf(label), lookOf(otherLabel)]
  return look.looks === otherLook.looks || (suffix.join('.') === otherSuffix.join('.') && isSlip(look, otherLook))
}

interface Look {
  name: string
  /** Its skeleton. */
  looks: string
}

function lookOf(name: string): Look {
  return { name, looks: skeleton(name) }
}

/** The same at a glance, or one letter away from a name long enough for that to be no accident. */
function isSlip(own: Look, other: Look): boolean {
  if (own.name === other.name) return false
  return own.looks === other.looks || (other.name.length >= 6 && isOneEditApart(own.name, other.name))
}

/** One letter more, less, other, or two swapped. */
function isOneEditApart(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > 1) return false
  let start = 0
  while (start < left.length && left[start] === right[start]) start++
  let end = 0
  while (end < Math.min(left.length, right.length) - start && left.at(-1 - end) === right.at(-1 - end)) end++
  const [leftRest, rightRest] = [left.slice(start, left.length - end), right.slice(start, right.length - end)]
  if (leftRest.length <= 1 && rightRest.length <= 1) return true
  return leftRest.length === 2 && rightRest.length === 2 && leftRest[0] === rightRest[1] && leftRest[1] === rightRest[0]
}

const containsDomain = (name: string, domain: string): boolean => {
  const at = name.indexOf(domain)
  return (
    at !== -1 && !/[\p{L}\p{N}.-]/u.test(name[at - 1] ?? ' ') && !/[\p{L}\p{N}-]/u.test(name[at + domain.length] ?? ' ')
  )
}

/** Answers that go to another organisation than the one that writes. */
function answersElsewhere(from: readonly Mailbox[], replyTo: readonly Mailbox[]): Finding[] {
  const senders = new Set(from.map(({ address }) => organisationOf(domainOf(address))))
  if (senders.size === 0) return []
  const labels = new Set([...senders].map(domain => domain.split('.')[0]))
  const [sender] = senders
  for (const { address } of replyTo.slice(0, MAILBOXES_MAX)) {
    const domain = organisationOf(domainOf(address))
    // The same name under another suffix is mostly the same organisation.
    if (domain === '' || senders.has(domain) || labels.has(domain.split('.')[0])) continue
    const isFree = FREE_MAIL.has(domain) && !FREE_MAIL.has(sender!)
    const what = isFree ? `a free mailbox (${address})` : `another organisation (${address})`
    return [finding('reply_to_mismatch', 'reply_to', `answers go to ${what}, the sender is ${from[0]!.address}`)]
  }
  return []
}
