// The four ways in which an alert reaches a person. Each resolves when it was taken and rejects when it was not; a mail is
// taken when it is in the queue, which is not yet delivered.
import { createSecretKey } from 'node:crypto'
import type { GuardedHttp } from '../../platform/net/guarded-http.ts'
import type { World } from '../../platform/world.ts'
import { sign } from '../webhooks/signature.ts'
import { secretRow } from './contacts.ts'
import { approvalMail, mailTextOf, subjectOf, type ApprovalLink } from './mail-wording.ts'
import type { ClaimedNotification } from './notification-queries.ts'
import { openTarget } from './target.ts'

interface AlertMail {
  to: string
  subject: string
  text: string
  /** Taken again with the same key it is sent once. */
  key: string
  /** By this it is known again in what happens to the mail. */
  metadata: { alert_notification: string }
  isSandbox: boolean
}

/** A mail of the installation itself; suppressed where the address has bounced lately or complained. */
export type SendMail = (mail: AlertMail) => Promise<'sent' | 'suppressed'>

/** It makes no sense to try again. */
export class Undeliverable extends Error {}

/** There is nothing to tell any more. */
export class Obsolete extends Error {}

/** What alerts leave through. */
export interface Ways {
  sendMail: SendMail
  /** The link by which a contact decides about an approval; null when it cannot decide about it any more. */
  approvalLink(approvalId: string, contactId: string): Promise<ApprovalLink | null>
  /** To URLs that customers chose. */
  http: GuardedHttp
  /** To the paging service, which is the operator's own choice, wherever it is. */
  paging: GuardedHttp
}

export async function notify(world: World, ways: Ways, notification: ClaimedNotification) {
  const target = openTarget(world.secrets, notification.contact_id, notification)
  switch (notification.channel) {
    case 'email':
      await mail(ways, target, notification)
      return 'sent'
    case 'webhook':
      await post(ways.http, target, signed(world, notification))
      return 'delivered'
    case 'chat':
      await post(ways.http, target, chat(notification))
      return 'delivered'
    case 'paging':
      await page(world, ways.paging, { notification, routingKey: target })
      return 'delivered'
  }
}

async function mail(ways: Ways, to: string, notification: ClaimedNotification): Promise<void> {
  const { id: key, is_sandbox: isSandbox, approval_id: approvalId } = notification
  const metadata = { alert_notification: key }
  const words = approvalId === null ? alertMail(notification) : await approvalWords(ways, approvalId, notification)
  const taken = await ways.sendMail({ to, ...words, key, metadata, isSandbox })
  if (taken === 'suppressed') {
    throw new Undeliverable('This address has bounced or complained before and is not written to for now.')
  }
}

const alertMail = (notification: ClaimedNotification) => ({
  subject: subjectOf(notification),
  text: mailTextOf(notification),
})

async function approvalWords(ways: Ways, approvalId: string, { contact_id: contactId }: ClaimedNotification) {
  const link = await ways.approvalLink(approvalId, contactId)
  if (!link) throw new Obsolete('The approval no longer waits, or the address is an inbox of the account.')
  return approvalMail(link)
}

interface Content {
  body: string
  headers: Record<string, string>
}

async function post(http: GuardedHttp, url: string, { body, headers }: Content): Promise<void> {
  const { error } = await http.push({
    url: new URL(url),
    body,
    headers: { 'content-type': 'application/json', 'user-agent': 'Sluice', ...headers },
  })
  if (error !== null) throw new Error(error)
}

/** Slack reads `<…>` as links and mentions: an address that holds one must not call the whole channel. */
const chat = (notification: ClaimedNotification): Content => ({
  body: JSON.stringify({
    text: textOf(notification).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  headers: {},
})

/** Signed as webhooks are, afresh at each try. */
function signed(world: World, notification: ClaimedNotification): Content {
  const body = JSON.stringify(alertOf(notification))
  const secret = world.secrets.open(secretRow(notification.contact_id), notification.secret ?? '')
  return {
    body,
    headers: {
      'x-service-event': 'alert',
      'x-service-event-id': notification.alert_id,
      'x-service-delivery-attempt': String(notification.attempts),
      'x-service-signature': sign([createSecretKey(secret, 'utf8')], body, world.clock.now()),
    },
  }
}

const page = (
  world: World,
  http: GuardedHttp,
  { notification, routingKey }: { notification: ClaimedNotification; routingKey: string },
): Promise<void> =>
  post(http, `${world.config.PAGING_URL}/v2/enqueue`, {
    headers: {},
    body: JSON.stringify({
      routing_key: routingKey,
      event_action: 'trigger',
      // A second try of the same alert is the same incident.
      dedup_key: notification.alert_id,
      payload: {
        // PagerDuty takes 1,024 characters.
        summary: notification.title.slice(0, 1024),
        source: notification.scope ?? 'sluice',
        severity: notification.severity,
        timestamp: notification.created_at.toISOString(),
        custom_details: alertOf(notification),
      },
    }),
  })

const alertOf = (notification: ClaimedNotification) => ({
  id: notification.alert_id,
  account_id: notification.account_id,
  tenant_id: notification.tenant_id,
  kind: notification.kind,
  severity: notification.severity,
  title: notification.title,
  scope: notification.scope,
  created_at: notification.created_at.toISOString(),
  data: notification.data,
})

function textOf({ severity, title, scope, created_at, alert_id, data }: ClaimedNotification): string {
  const domains = Array.isArray(data['top_recipient_domains'])
    ? (data['top_recipient_domains'] as { domain: string; count: number }[])
    : []
  return [
    `${severity.toUpperCase()}: ${title}`,
    ...(scope ? [`Scope: ${scope}`] : []),
    ...(domains.length > 0
      ? [`Recipient domains: ${domains.map(({ domain, count }) => `${domain} (${count})`).join(', ')}`]
      : []),
    `At ${created_at.toISOString()}, alert ${alert_id}`,
  ].join('\n')
}
