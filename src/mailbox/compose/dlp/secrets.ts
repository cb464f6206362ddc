// Private keys, and tokens of clouds and APIs by the form that their issuers gave them so that they can be found.
import { isLetterAt, isWordAt, longWords, type Codes } from './characters.ts'
import type { Match } from './match.ts'

export function* secretsIn(given: Codes): Generator<Match> {
  yield* privateKeysIn(given.text)
  yield* tokensIn(given)
  yield* assignedIn(given.text)
}

/** The heading and some of what it heads: a text that only names the heading gives nothing away. */
const KEY_HEADING = new RegExp(
  [
    String.raw`BEGIN[ \t]{0,3}([A-Z0-9 ]{0,24}?)[ \t]{0,3}PRIVATE[ \t]{0,3}KEY(?:[ \t]{0,3}BLOCK)?`,
    String.raw`PuTTY-User-Key-File-\d`,
    String.raw`AGE-SECRET-KEY-1[A-Z0-9]{20}`,
  ].join('|'),
  'g',
)
const KEY_BODY_CHARS_MAX = 400
/** Base64 in lines; white space and marks of quotation may stand between. */
const KEY_BODY = /[A-Za-z0-9+/](?:[\s>|*"'\\n]{0,4}[A-Za-z0-9+/=]){39}/

function* privateKeysIn(text: string): Generator<Match> {
  for (const found of text.matchAll(KEY_HEADING)) {
    const end = found.index + found[0].length
    const isBare = found[0].startsWith('AGE')
    if (!isBare && !KEY_BODY.test(text.slice(end, end + KEY_BODY_CHARS_MAX).replace(/^[-\s]+/, ''))) continue
    const kind = found[1]?.trim()
    const label = kind ? `Private key (${kind})` : 'Private key'
    yield { detector: 'private_key', label, value: found[0], start: found.index, end }
  }
}

interface TokenForm {
  label: string
  /** How it begins. */
  prefix: string
  /** The whole of it, prefix included. */
  form: RegExp
}

const TOKENS: readonly TokenForm[] = [
  { label: 'API key of this service', prefix: 'svc_', form: /svc_[A-Za-z0-9]{4,24}_[A-Za-z0-9_-]{24,}/y },
  { label: 'Webhook secret', prefix: 'whsec_', form: /whsec_[A-Za-z0-9+/_-]{24,}=*/y },
  ...['AKIA', 'ASIA', 'ABIA', 'ACCA'].map(prefix => ({
    label: 'AWS access key',
    prefix,
    form: new RegExp(`${prefix}[A-Z0-9]{16}(?![A-Za-z0-9])`, 'y'),
  })),
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map(prefix => ({
    label: 'GitHub token',
    prefix,
    form: new RegExp(`${prefix}[A-Za-z0-9]{36,255}`, 'y'),
  })),
  { label: 'GitHub token', prefix: 'github_pat_', form: /github_pat_[A-Za-z0-9_]{40,255}/y },
  { label: 'GitLab token', prefix: 'glpat-', form: /glpat-[A-Za-z0-9_-]{20,}/y },
  ...['gldt-', 'glrt-', 'glptt-', 'glcbt-'].map(prefix => ({
    label: 'GitLab token',
    prefix,
    form: new RegExp(`${prefix}[A-Za-z0-9_-]{20,}`, 'y'),
  })),
  { label: 'Slack token', prefix: 'xox', form: /xox[abceoprs]-(?:[A-Za-z0-9]+-)*[A-Za-z0-9]{10,}/y },
  { label: 'Slack token', prefix: 'xapp-', form: /xapp-\d-[A-Za-z0-9-]{20,}/y },
  { label: 'Slack webhook', prefix: 'hooks.slack.com/', form: /hooks\.slack\.com\/services\/[A-Za-z0-9/]{30,}/y },
  { label: 'Discord webhook', prefix: '/api/webhooks/', form: /\/api\/webhooks\/\d{15,22}\/[A-Za-z0-9_-]{50,}/y },
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'].map(prefix => ({
    label: 'Stripe key',
    prefix,
    form: new RegExp(`${prefix}[A-Za-z0-9]{16,}`, 'y'),
  })),
  { label: 'Google API key', prefix: 'AIza', form: /AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/y },
  { label: 'Google OAuth token', prefix: 'ya29.', form: /ya29\.[A-Za-z0-9_-]{20,}/y },
  { label: 'Google client secret', prefix: 'GOCSPX-', form: /GOCSPX-[A-Za-z0-9_-]{28}/y },
  { label: 'Anthropic key', prefix: 'sk-ant-', form: /sk-ant-[A-Za-z0-9_-]{20,}/y },
  { label: 'API key', prefix: 'sk-', form: /sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}/y },
  { label: 'Hugging Face token', prefix: 'hf_', form: /hf_[A-Za-z0-9]{30,}/y },
  { label: 'npm token', prefix: 'npm_', form: /npm_[A-Za-z0-9]{36}/y },
  { label: 'PyPI token', prefix: 'pypi-', form: /pypi-[A-Za-z0-9_-]{50,}/y },
  { label: 'SendGrid key', prefix: 'SG.', form: /SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}/y },
  { label: 'Twilio key', prefix: 'SK', form: /SK[0-9a-f]{32}(?![0-9a-f])/y },
  { label: 'Mailgun key', prefix: 'key-', form: /key-[0-9a-f]{32}(?![0-9a-f])/y },
  { label: 'Mailchimp key', prefix: '-us', form: /(?<=[0-9a-f]{32})-us\d{1,2}(?!\d)/y },
  ...['dop_v1_', 'doo_v1_', 'dor_v1_'].map(prefix => ({
    label: 'DigitalOcean token',
    prefix,
    form: new RegExp(`${prefix}[a-f0-9]{64}`, 'y'),
  })),
  { label: 'Azure storage key', prefix: 'AccountKey=', form: /AccountKey=[A-Za-z0-9+/]{86}==/y },
  { label: 'Azure signature', prefix: 'SharedAccessKey=', form: /SharedAccessKey=[A-Za-z0-9+/]{43}=/y },
  { label: 'JSON Web Token', prefix: 'eyJ', form: /eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/y },
  ...['shpat_', 'shpca_', 'shppa_', 'shpss_'].map(prefix => ({
    label: 'Shopify token',
    prefix,
    form: new RegExp(`${prefix}[a-fA-F0-9]{32}`, 'y'),
  })),
  { label: 'Databricks token', prefix: 'dapi', form: /dapi[a-f0-9]{32}(?![a-f0-9])/y },
  { label: 'Vault token', prefix: 'hvs.', form: /hvs\.[A-Za-z0-9_-]{24,}/y },
  { label: 'Linear key', prefix: 'lin_api_', form: /lin_api_[A-Za-z0-9]{32,}/y },
  { label: 'Notion token', prefix: 'ntn_', form: /ntn_[A-Za-z0-9]{40,}/y },
  { label: 'Postman key', prefix: 'PMAK-', form: /PMAK-[a-f0-9]{24}-[a-f0-9]{34}/y },
  { label: 'Square token', prefix: 'sq0', form: /sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}/y },
  { label: 'Telegram token', prefix: ':AA', form: /(?<=\b\d{8,10}):AA[A-Za-z0-9_-]{33}/y },
  { label: 'Docker token', prefix: 'dckr_pat_', form: /dckr_pat_[A-Za-z0-9_-]{24,}/y },
  { label: 'New Relic key', prefix: 'NRAK-', form: /NRAK-[A-Z0-9]{27}/y },
  { label: 'Grafana token', prefix: 'glsa_', form: /glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}/y },
  { label: 'Age key', prefix: 'AGE-SECRET-KEY-', form: /AGE-SECRET-KEY-1[A-Z0-9]{50,}/y },
]

/** Where a token may begin: by its first two characters, the longest prefix first. A pattern of all is three times slower. */
const byBeginning = new Map<number, TokenForm[]>()
const beginnings = new Uint8Array(128 * 128)
const beginningOf = (first: number, second: number): number => (first << 7) | second
for (const token of TOKENS.toSorted((a, b) => b.prefix.length - a.prefix.length)) {
  const beginning = beginningOf(token.prefix.charCodeAt(0), token.prefix.charCodeAt(1))
  beginnings[beginning] = 1
  byBeginning.set(beginning, [...(byBeginning.get(beginning) ?? []), token])
}

/** Where the next two characters stand that begin a prefix. A loop that calls nothing: every word of every link is read. */
function nextBeginning(codes: Uint16Array, from: number, end: number): number {
  let at = from
  while (at + 1 < end && beginnings[(codes[at]! << 7) | codes[at + 1]!] === 0) at++
  return at + 1 < end ? at : end
}

/** The form whose prefix stands here, within the word. Both characters are ASCII: a word is made of no others. */
function formAt({ codes, text }: Codes, at: number, end: number): TokenForm | undefined {
  const forms = byBeginning.get(beginningOf(codes[at]!, codes[at + 1]!)) ?? []
  return forms.find(({ prefix }) => at + prefix.length <= end && text.startsWith(prefix, at))
}

/** Longer than any of them, wrapped or not. */
const TOKEN_CHARS_MAX = 400

/** No token, nor the first line of one that was wrapped, is a shorter word. */
const WORD_CHARS_MIN = 12

function* tokensIn(given: Codes): Generator<Match> {
  const { text } = given
  let end = 0
  for (const word of longWords(given, WORD_CHARS_MIN)) {
    for (let at = word.start; ; at++) {
      at = nextBeginning(given.codes, at, word.end)
      if (at === word.end) break
      const found = formAt(given, at, word.end)
      if (!found) continue
      const [start, { label, form, prefix }] = [at, found]
      at += prefix.length - 1
      if (start < end || (isWordAt(given, start - 1) && isLetterAt(given, start))) continue
      const token = matchAt(text, start, form)
      if (!token || !isRandom(token.value.slice(prefix.length))) continue
      yield { detector: 'api_token', label, value: token.value, start, end: token.end }
      end = token.end
    }
  }
}

/** As it stands; else without the white space that somebody put into it. */
function matchAt(text: string, start: number, form: RegExp): { value: string; end: number } | null {
  form.lastIndex = start
  const plain = form.exec(text)
  if (plain) return { value: plain[0], end: start + plain[0].length }
  const cut = text.slice(start, start + TOKEN_CHARS_MAX)
  if (!/^\S{4,}\s/.test(cut) && !/^\S+\s+\S/.test(cut)) return null
  const joined = cut.replaceAll(/\s+/g, '')
  form.lastIndex = 0
  const wrapped = form.exec(joined)
  // Words that follow a prefix by chance have few digits.
  if (!wrapped || (wrapped[0].match(/\d/g) ?? []).length < 4) return null
  return { value: wrapped[0], end: endOfJoined(text, start, wrapped[0].length) }
}

function endOfJoined(text: string, start: number, length: number): number {
  let at = start
  for (let seen = 0; seen < length && at < text.length; at++) if (!/\s/.test(text[at]!)) seen++
  return at
}

/** A placeholder repeats itself, or says that it is one. A key that its issuer prints in every manual is none either. */
function isRandom(value: string): boolean {
  if (value === '') return true
  if (/^(?:x+|\*+|\.+|0+)$/i.test(value) || /(?:example|placeholder|your[_-]?|xxxx|\*\*\*\*|\.\.\.)/i.test(value))
    return false
  return new Set(value).size >= Math.min(8, value.length / 3)
}

/** A name that says secret, then a value that nobody would type. */
const ASSIGNED = new RegExp(
  [
    String.raw`(?:secret|token|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key|client[\s_-]?secret|auth[\s_-]?key)`,
    String.raw`["'\`]?(?:\s{1,3}(?:is|lautet|est))?\s{0,3}(?:=>|:=|[=:]|\s)\s{0,3}["'\`]?([A-Za-z0-9+/_=.-]{20,200})`,
  ].join(''),
  'gi',
)
const BEARER = /\bBearer\s{1,3}([A-Za-z0-9+/_=.~-]{20,400})/g

function* assignedIn(text: string): Generator<Match> {
  for (const [form, label] of [
    [ASSIGNED, 'Secret'],
    [BEARER, 'Bearer token'],
  ] as const) {
    for (const found of text.matchAll(form)) {
      const value = found[1]!.replace(/[.=]+$/, '')
      if (!isDense(value) || !isRandom(value)) continue
      const end = found.index + found[0].length
      yield { detector: 'api_token', label, value, start: end - found[1]!.length, end }
    }
  }
}

const ENTROPY_BITS_MIN = 3.2
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Letters and digits in no order: words, names of files, addresses and ids of rows are less. */
function isDense(value: string): boolean {
  if (value.length < 20 || UUID.test(value)) return false
  const digits = (value.match(/\d/g) ?? []).length
  const letters = (value.match(/[A-Za-z]/g) ?? []).length
  if (digits < 3 || letters < 5) return false
  const counts = new Map<string, number>()
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits >= ENTROPY_BITS_MIN
}
