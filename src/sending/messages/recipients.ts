// Who receives a message: the addresses of its fields, parsed in slices and counted before they are.
import { parseAddress, type Address } from '../../mail/address/address.ts'
import { invalid } from './check-texts.ts'
import { tooManyRecipients } from './decide.ts'
import * as limits from './limits.ts'
import type { SendRequest } from './send-schema.ts'
import type { Recipient, RecipientKind } from './submission.ts'

/** Who receives it, each once; the most visible mention of an address counts. */
export function withoutDuplicates(addressed: Record<RecipientKind, readonly Address[]>): Recipient[] {
  const recipients = new Map<string, Recipient>()
  for (const kind of ['to', 'cc', 'bcc'] as const) {
    for (const { address, domain } of addressed[kind]) {
      if (!recipients.has(address)) recipients.set(address, { address, domain, kind })
    }
  }
  return [...recipients.values()]
}

/**
 * Before any address is parsed. More texts than this are too many whatever they say; the same address written in the same
 * way counts once.
 */
function* checkRecipientCount({ to, cc = [], bcc = [] }: SendRequest): Generator<void, void> {
  if (to.length + cc.length + bcc.length <= limits.RECIPIENTS_MAX) return
  const distinct = new Set<string>()
  for (const texts of [to, cc, bcc]) {
    for (const [index, text] of texts.entries()) {
      distinct.add(text)
      if (distinct.size > limits.RECIPIENTS_MAX) throw tooManyRecipients(limits.RECIPIENTS_MAX)
      if (index % TEXTS_PER_SLICE === TEXTS_PER_SLICE - 1) yield
    }
  }
}

/** About 4 ms each. */
const ADDRESSES_PER_SLICE = 500
const TEXTS_PER_SLICE = 50_000

type Addressed = Record<RecipientKind, Address[]>

/**
 * Each text is parsed once, and stands once in its header. It ends as soon as there are more addresses than the tenant may
 * write to: what is too much is not worth reading to its end.
 */
export function* parseRecipients(body: SendRequest, recipientsMax: number): Generator<void, Addressed> {
  yield* checkRecipientCount(body)
  const addressed: Addressed = { to: [], cc: [], bcc: [] }
  const parsed = new Map<string, Address>()
  const distinct = new Set<string>()
  for (const kind of ['to', 'cc', 'bcc'] as const) {
    const written = new Set<string>()
    for (const [index, text] of (body[kind] ?? []).entries()) {
      if (index % TEXTS_PER_SLICE === TEXTS_PER_SLICE - 1) yield
      if (written.has(text)) continue
      written.add(text)
      const address = parsed.get(text) ?? requireAddress(text, `${kind}[${index}]`)
      addressed[kind].push(address)
      if (parsed.has(text)) continue
      parsed.set(text, address)
      distinct.add(address.address)
      if (distinct.size > recipientsMax) throw tooManyRecipients(recipientsMax)
      if (parsed.size % ADDRESSES_PER_SLICE === 0) yield
    }
  }
  return addressed
}

export function requireAddress(text: string, field: string): Address {
  const address = parseAddress(text)
  if (!address) throw invalid(`${field} is not one valid email address.`)
  return address
}
