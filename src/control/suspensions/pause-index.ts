// The active pauses of an account, indexed by what they stop. Finding the pause of a recipient costs a few look-ups,
// whether the account has one pause or a thousand.
import { breadthOf, kindOf, SCOPE_KINDS, type PauseFacts, type PauseScope, type ScopeKind } from './scopes.ts'

/** What a pause can be about, but for the recipient: the same for all recipients of a message. */
type MessageFacts = Omit<PauseFacts, 'recipientDomain'>

interface Indexed<P> {
  pause: P
  /** Broader before narrower, and in the order given among those that are equally broad. */
  rank: number
}

const OF_RECIPIENT = SCOPE_KINDS.filter(kind => kind.prefix === 'recipient_domain:')
const OF_MESSAGE = SCOPE_KINDS.filter(kind => !OF_RECIPIENT.includes(kind))

export class PauseIndex<P extends PauseScope> {
  readonly #byKind = new Map<ScopeKind, Map<string, Indexed<P>>>()

  constructor(pauses: readonly P[]) {
    pauses.forEach((pause, position) => {
      const found = kindOf(pause)
      if (!found) return
      const byValue = this.#byKind.get(found.kind) ?? new Map<string, Indexed<P>>()
      this.#byKind.set(found.kind, byValue)
      const rank = breadthOf(pause) * pauses.length + position
      const key = keyOf(found.value, found.onlyTenant)
      if (!byValue.has(key)) byValue.set(key, { pause, rank })
    })
  }

  /** For the recipients of one message: the broadest pause that stops one at this domain, or null. */
  ofMessage(facts: MessageFacts): (recipientDomain: string) => P | null {
    const broadest = this.#broadest(OF_MESSAGE, { ...facts, recipientDomain: '' })
    if (OF_RECIPIENT.every(kind => !this.#byKind.has(kind))) return () => broadest?.pause ?? null
    return recipientDomain =>
      broader(broadest, this.#broadest(OF_RECIPIENT, { ...facts, recipientDomain }))?.pause ?? null
  }

  broadest({ recipientDomain, ...facts }: PauseFacts): P | null {
    return this.ofMessage(facts)(recipientDomain)
  }

  #broadest(kinds: readonly ScopeKind[], facts: PauseFacts): Indexed<P> | undefined {
    return kinds
      .flatMap(kind => {
        const byValue = this.#byKind.get(kind)
        if (!byValue) return []
        return kind
          .facts(facts)
          .filter(value => value !== null)
          .flatMap(value => [byValue.get(keyOf(value, null)), byValue.get(keyOf(value, facts.tenantId))])
      })
      .reduce(broader, undefined)
  }
}

/** Of pauses of all tenants, and of those of one tenant. */
const keyOf = (value: string, tenantId: string | null): string => `${tenantId ?? ''} ${value}`

function broader<P>(one: Indexed<P> | undefined, other: Indexed<P> | undefined): Indexed<P> | undefined {
  if (!one || !other) return one ?? other
  return one.rank <= other.rank ? one : other
}
