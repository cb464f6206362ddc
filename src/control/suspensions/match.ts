// Which pause applies to a recipient of a message. Pure: used when mail is accepted, when it is claimed, and when
// held mail is released.

export interface PauseScope {
  id: string
  scope_type: string
  scope_value: string
  queue_action: 'hold' | 'reject'
}

/** What a pause can be about, of one recipient of one message. */
export interface PauseFacts {
  tenantId: string
  senderDomain: string
  sender: string
  credentialId: string | null
  apiKeyId: string | null
  tags: readonly string[]
  recipientDomain: string
}

/** Broadest first: the order in which a hold names its scope (DECISIONS §4). */
const BREADTH = ['account', 'tenant', 'domain', 'sender', 'credential', 'api_key', 'rule']

export function broadestPause<P extends PauseScope>(pauses: readonly P[], facts: PauseFacts): P | null {
  let broadest: P | null = null
  for (const pause of pauses) {
    if (!applies(pause, facts)) continue
    if (!broadest || BREADTH.indexOf(pause.scope_type) < BREADTH.indexOf(broadest.scope_type)) broadest = pause
  }
  return broadest
}

export const scopeName = (pause: PauseScope): string => `${pause.scope_type}:${pause.scope_value}`

export function applies({ scope_type, scope_value }: PauseScope, facts: PauseFacts): boolean {
  switch (scope_type) {
    case 'account':
      return true
    case 'tenant':
      return scope_value === facts.tenantId
    case 'domain':
      return scope_value === facts.senderDomain
    case 'sender':
      // The guardian names a sender as it wrote itself, a person as they please.
      return scope_value.toLowerCase() === facts.sender.toLowerCase()
    case 'credential':
      return scope_value === facts.credentialId
    case 'api_key':
      return scope_value === facts.apiKeyId
    case 'rule':
      return scope_value.startsWith('tag:')
        ? facts.tags.includes(scope_value.slice('tag:'.length))
        : scope_value === `recipient_domain:${facts.recipientDomain}`
    default:
      return false
  }
}
