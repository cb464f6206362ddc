// The headers of a push, and its signature: `t=<unix seconds>,v1=<hex>`, a v1 for each secret that is in force.
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { mintSecret, type Secrets } from '../../platform/secrets.ts'

export const mintSigningSecret = (): string => `whsec_${mintSecret()}`

/** A sealed secret opens for its own webhook only. */
const rowOf = (webhookId: string): string => `webhooks/${webhookId}/secret`

export const sealSigningSecret = (secrets: Secrets, webhookId: string, secret: string): string =>
  secrets.seal(rowOf(webhookId), secret)

interface SealedSecrets {
  id: string
  secret: string
  old_secret: string | null
  old_secret_until: Date | null
  older_secrets: readonly { secret: string; until: string }[]
}

/** The keys that sign now, the newest first. Opened and parsed once for many signatures. */
export function signingKeys(secrets: Secrets, webhook: SealedSecrets, now: Date): KeyObject[] {
  return secretsInForce(webhook, now).map(each => createSecretKey(secrets.open(rowOf(webhook.id), each), 'utf8'))
}

/** Sealed. */
export function secretsInForce(webhook: SealedSecrets, now: Date): string[] {
  const { secret, old_secret: old, old_secret_until: until, older_secrets: older } = webhook
  return [
    secret,
    ...(old !== null && until !== null && until > now ? [old] : []),
    ...older.filter(each => new Date(each.until) > now).map(each => each.secret),
  ]
}

export function sign(keys: readonly KeyObject[], body: string, now: Date): string {
  const t = Math.floor(now.getTime() / 1000)
  const digests = keys.map(key => createHmac('sha256', key).update(`${t}.${body}`).digest('hex'))
  return `t=${t},${digests.map(digest => `v1=${digest}`).join(',')}`
}

interface PushFacts {
  type: string
  id: number
  /** 1 is the first. */
  attempt: number
  body: string
  keys: readonly KeyObject[]
  now: Date
}

/** Signed afresh for each try: receivers refuse what is older than five minutes. */
export const pushHeaders = ({ type, id, attempt, body, keys, now }: PushFacts): Record<string, string> => ({
  'Content-Type': 'application/json; charset=utf-8',
  'User-Agent': 'Sluice-Webhooks/1.0',
  'X-Service-Event': type,
  'X-Service-Event-Id': String(id),
  'X-Service-Delivery-Attempt': String(attempt),
  'X-Service-Signature': sign(keys, body, now),
})
