// The texts of MTA-STS: the record that says there is a policy, the policy itself, and which hosts it allows (RFC 8461
// §3.1, §3.2, §4.1). Strict: a text that is not as it must be counts as none.

export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none'
  /** Names of mail hosts in lower case; `*.` stands for one label. */
  mx: readonly string[]
  maxAgeSeconds: number
}

const MAX_AGE_SECONDS_MAX = 31_557_600 // about a year, RFC 8461 §3.2

/** The id of the current policy, or null: no record, several, or one that is malformed. */
export function readPolicyId(records: readonly string[]): string | null {
  const found = records.filter(record => /^v=STSv1[ \t]*;/.test(record))
  if (found.length !== 1) return null
  const fields = found[0]!
    .split(';')
    .slice(1)
    .map(field => field.trim())
  // One empty field at the end is the delimiter that may stand there.
  if (fields.at(-1) === '') fields.pop()
  if (!fields.every(field => /^[A-Za-z0-9][\w.-]{0,31}=[!-:<>-~]+$/.test(field))) return null
  const id = fields.find(field => field.startsWith('id='))?.slice(3)
  return id !== undefined && /^[A-Za-z0-9]{1,32}$/.test(id) ? id : null
}

/**
 * The policy, or null when the text is none. Of a field that stands twice the first counts; unknown ones are skipped.
 */
export function readPolicy(text: string): StsPolicy | null {
  const mx: string[] = []
  const fields = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    const [key, value] = [line.slice(0, Math.max(colon, 0)), line.slice(colon + 1).trim()]
    if (key === 'mx') mx.push(value.toLowerCase())
    else if (!fields.has(key)) fields.set(key, value)
  }
  const mode = MODES.find(each => each === fields.get('mode'))
  const maxAge = fields.get('max_age') ?? ''
  if (fields.get('version') !== 'STSv1' || !mode || !/^\d{1,10}$/.test(maxAge)) return null
  if (Number(maxAge) > MAX_AGE_SECONDS_MAX || !mx.every(pattern => MX_PATTERN.test(pattern))) return null
  if (mx.length === 0 && mode !== 'none') return null
  return { mode, mx, maxAgeSeconds: Number(maxAge) }
}

const MODES = ['enforce', 'testing', 'none'] as const
const MX_PATTERN = /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

export function allowsHost({ mx }: StsPolicy, host: string): boolean {
  const name = host.toLowerCase()
  const parent = name.slice(name.indexOf('.') + 1)
  return mx.some(pattern => pattern === name || (pattern.startsWith('*.') && pattern.slice(2) === parent))
}
