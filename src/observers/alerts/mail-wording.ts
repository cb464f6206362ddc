// The words of an alert mail. They are ours: such a mail comes from the operator's address, signed, to any address that an
// account names, so nothing in it may be chosen by the account but a few names, which are shown as such and cannot become
// links or sentences.
import { isRate, METRICS } from '../guardian/metric.ts'
import type { ClaimedNotification } from './notification-queries.ts'

type Worded = Pick<ClaimedNotification, 'alert_id' | 'kind' | 'severity' | 'scope' | 'data' | 'created_at'>

const NAME_LENGTH_MAX = 64
const DOMAINS_MAX = 5

export const subjectOf = (alert: Worded): string => `[${alert.severity}] Sluice: ${headlineOf(alert)}`

export function mailTextOf(alert: Worded): string {
  const { severity, created_at, alert_id } = alert
  return [
    `${severity.toUpperCase()}: ${headlineOf(alert)}`,
    ...measureOf(alert.data),
    ...scopeOf(alert.scope),
    ...domainsOf(alert.data),
    `At ${created_at.toISOString()}, alert ${alert_id}`,
    '',
    'You get this mail because your address is an alert contact. GET /v1/alerts shows the alert in full.',
  ].join('\n')
}

const HEADLINES: Record<string, string> = {
  domain_unverified: 'A domain failed its DNS checks and can no longer send',
  webhook_disabled: 'A webhook was disabled',
  message_set_aside: 'A delivery was set aside',
}

function headlineOf({ kind, data }: Worded): string {
  const metric = metricOf(data)
  if (kind !== 'rule' || !metric) return HEADLINES[kind] ?? 'Something needs your attention'
  const words = metric.replaceAll('_', ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} over the limit of a rule`
}

function measureOf(data: Record<string, unknown>): string[] {
  const metric = metricOf(data)
  const { value, threshold, window_seconds: seconds } = data
  if (!metric || typeof value !== 'number' || typeof threshold !== 'number') return []
  const write = (amount: number): string => (isRate(metric) ? `${short(amount * 100)} %` : short(amount))
  const span = typeof seconds === 'number' ? ` in ${short(seconds / 60)} minutes` : ''
  return [`Value: ${write(value)}${span}, limit ${write(threshold)}`]
}

const metricOf = ({ metric }: Record<string, unknown>) => METRICS.find(each => each === metric) ?? null

const short = (amount: number): string => String(Number(amount.toPrecision(4)))

/** `type:value`. Types are ours, values are the account's. */
function scopeOf(scope: string | null): string[] {
  const [type = '', ...rest] = scope?.split(':') ?? []
  return /^[a-z_]{1,20}$/.test(type) ? [`Scope: ${type.replaceAll('_', ' ')} ${quoted(rest.join(':'))}`] : []
}

function domainsOf({ top_recipient_domains: domains }: Record<string, unknown>): string[] {
  if (!Array.isArray(domains) || domains.length === 0) return []
  const named = (domains as { domain?: unknown; count?: unknown }[])
    .slice(0, DOMAINS_MAX)
    .map(({ domain, count }) => `${quoted(String(domain))} (${short(Number(count))})`)
  return [`Recipient domains: ${named.join(', ')}`]
}

/**
 * A name that somebody chose: letters, digits and little else, so no line breaks, no directions of writing and no words
 * in a row, clipped, with dots and at signs written so that no mail program makes a link of them.
 */
export function quoted(name: string): string {
  const plain = name.normalize('NFKC').replace(/[^\p{L}\p{M}\p{N}._@+-]/gu, '')
  const clipped = plain.length > NAME_LENGTH_MAX ? `${plain.slice(0, NAME_LENGTH_MAX)}…` : plain
  return `"${clipped.toWellFormed().replaceAll('.', '[.]').replaceAll('@', '[at]')}"`
}

export interface ApprovalLink {
  url: string
  inboxAddress: string
  expiresAt: Date
}

/** Of the mail that waits nothing is said but the name of its inbox, because its author may be who must not be trusted. */
export const approvalMail = ({ url, inboxAddress, expiresAt }: ApprovalLink): { subject: string; text: string } => ({
  subject: 'Sluice: A mail waits for your approval',
  text: [
    `A mail from the inbox ${quoted(inboxAddress)} leaves only when a person has approved it.`,
    '',
    'Read it and decide:',
    url,
    '',
    `The link works until ${expiresAt.toISOString()} and for one decision. Opening it changes nothing.`,
    'It is meant for you alone: who has the link can decide in your name. Do not forward this mail.',
    '',
    'You get this mail because your address is an alert contact, and the account has approval_links switched on.',
  ].join('\n'),
})
