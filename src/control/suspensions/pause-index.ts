// The active pauses of an account, indexed by what they stop. Finding the pause of a recipient costs a few look-ups,
// whether the account has one pause or a thousand.
import { BREADTH, scopeName, type PauseFacts, type PauseScope } from './match.ts'

/** What a pause can be about, but for the recipient: the same for all recipients of a message. */
export type MessageFacts = Omit<PauseFacts, 'recipientDomain'>

interface Indexed<P> {
  pause: P
  /** Broader before narrower, and in the order given among those that are equally broad. */
  rank: number
}

export class PauseIndex<P extends PauseScope> {
  readonly #byScope = new Map<string, Indexed<P>>()
  #hasRecipientDomains = false

  constructor(pauses: readonly P[]) {
    pauses.forEach((pause, position) => {
      const key = keyOf(pause)
      this.#hasRecipientDomains ||= key.startsWith(RECIPIENT_DOMAIN)
      const rank = BREADTH.indexOf(pause.scope_type) * pauses.length + position
      if (!this.#byScope.has(key)) this.#byScope.set(key, { pause, rank })
    })
  }

  /** For the recipients of one message: the broadest pause that stops one at this domain, or null. */
  ofMessage(facts: MessageFacts): (recipientDomain: string) => P | null {
    if (this.#byScope.size === 0) return () => null
    const scopes = [
      'account',
      `tenant:${facts.tenantId}`,
      `domain:${facts.senderDomain}`,
      `sender:${facts.sender.toLowerCase()}`,
      `credential:${facts.credentialId}`,
      `api_key:${facts.apiKeyId}`,
      ...facts.tags.map(tag => `rule:tag:${tag}`),
    ]
    const broadest = scopes.map(scope => this.#byScope.get(scope)).reduce(broader, undefined)
    if (!this.#hasRecipientDomains) return () => broadest?.pause ?? null
    return domain => broader(broadest, this.#byScope.get(RECIPIENT_DOMAIN + domain))?.pause ?? null
  }

  broadest({ recipientDomain, ...facts }: PauseFacts): P | null {
    return this.ofMessage(facts)(recipientDomain)
  }
}

const RECIPIENT_DOMAIN = 'rule:recipient_domain:'

function broader<P>(one: Indexed<P> | undefined, other: Indexed<P> | undefined): Indexed<P> | undefined {
  if (!one || !other) return one ?? other
  return one.rank <= other.rank ? one : other
}

/** An account's pauses belong to one account, so the pause of the account itself needs no value. */
function keyOf(pause: PauseScope): string {
  if (pause.scope_type === 'account') return 'account'
  // The guardian names a sender as the sender wrote itself, a person as they please.
  return pause.scope_type === 'sender' ? scopeName(pause).toLowerCase() : scopeName(pause)
}
