// The four ways in which an alert reaches a person. Each resolves when it was taken and rejects when it was not.
import { createSecretKey } from 'node:crypto'
import type { GuardedHttp } from '../../platform/net/guarded-http.ts'
import type { World } from '../../platform/world.ts'
import { sign } from '../webhooks/signature.ts'
import { secretRow } from './contacts.ts'
import type { ClaimedNotification } from './notification-queries.ts'

/** A mail of the installation itself. Taken again with the same key it is sent once. */
export type SendMail = (mail: { to: string; subject: string; text: string; key: string }) => Promise<void>

/** What alerts leave through. */
export interface Ways {
  sendMail: SendMail
  /** To URLs that customers chose. */
  http: GuardedHttp
  /** To the paging service, which is the operator's own choice, wherever it is. */
  paging: GuardedHttp
}

export function notify(world: World, ways: Ways, notification: ClaimedNotification): Promise<void> {
  switch (notification.channel) {
    case 'email':
      return ways.sendMail({
        to: notification.target,
        subject: `[${notification.severity}] ${notification.title}`,
        text: textOf(notification),
        key: notification.id,
      })
    case 'webhook':
      return post(ways.http, notification.target, signed(world, notification))
    case 'chat':
      return post(ways.http, notification.target, chat(notification))
    case 'paging':
      return page(world, ways.paging, notification)
  }
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

const page = (world: World, http: GuardedHttp, notification: ClaimedNotification): Promise<void> =>
  post(http, `${world.config.PAGING_URL}/v2/enqueue`, {
    headers: {},
    body: JSON.stringify({
      routing_key: notification.target,
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
