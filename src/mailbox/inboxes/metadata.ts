// What callers note on an inbox, bounded like the metadata of messages.
import { refuse } from '../../platform/refusal.ts'

const PAIRS_MAX = 50
const NAME_CHARS_MAX = 40
const VALUE_CHARS_MAX = 500

/** Values may be of any kind; what is no string counts as it is written in JSON. */
export function checkMetadata(metadata: Record<string, unknown>): void {
  const pairs = Object.entries(metadata)
  if (pairs.length > PAIRS_MAX) {
    throw refuse('invalid_request', `body.metadata must have at most ${PAIRS_MAX} entries.`)
  }
  for (const [name, value] of pairs) {
    if (name === '' || Array.from(name).length > NAME_CHARS_MAX || lengthOf(value) > VALUE_CHARS_MAX) {
      const bounds = `names of 1 to ${NAME_CHARS_MAX} and values of at most ${VALUE_CHARS_MAX} characters`
      throw refuse('invalid_request', `body.metadata must have ${bounds}.`)
    }
  }
}

const lengthOf = (value: unknown): number =>
  Array.from(typeof value === 'string' ? value : JSON.stringify(value)).length
