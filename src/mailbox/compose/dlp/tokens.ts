// Where tokens stand in a text: by the prefixes of their forms, within words that are long enough to be one, and where
// somebody wrote every character apart.
import { isLetterAt, isWordAt, type Codes, type Word } from './characters.ts'
import type { Match } from './match.ts'
import { isRandom, isVaried } from './random.ts'
import { beginningOf, indexed, TOKENS, type TokenForm } from './token-forms.ts'

/** No token is a shorter word. */
export const TOKEN_CHARS_MIN = 12

export const tokensIn = (given: Codes, words: readonly Word[]): Generator<Match> =>
  tokensFrom(given, words, at => !(isWordAt(given, at - 1) && isLetterAt(given, at)))

/** In words whose characters stood apart: where another word ends was not to be seen. */
export const tokensWithin = (given: Codes, words: readonly Word[]): Generator<Match> =>
  tokensFrom(given, words, () => true)

function* tokensFrom(given: Codes, words: readonly Word[], mayBeginAt: (at: number) => boolean): Generator<Match> {
  for (const { start, end } of words) {
    for (let at = nextPrefix(given, start, end); at < end; at = nextPrefix(given, at + 1, end)) {
      if (!mayBeginAt(at)) continue
      const form = formAt(given, at, end)!
      const value = valueAt(given.text, at, form)
      const token = value === null ? null : tokenOf(value, at, form)
      if (token) yield token
      at = token ? token.end - 1 : behindDull(value, at)
    }
  }
}

/** Part of a long value is looked at again: a token may begin in its last characters and end behind it. */
const LOOKED_AT_AGAIN_CHARS = 100

/** A long value of a few characters holds no token either, and a word of a million prefixes is not read from each of them. */
const behindDull = (value: string | null, at: number): number =>
  value !== null && value.length > 2 * LOOKED_AT_AGAIN_CHARS && !isVaried(value)
    ? at + value.length - LOOKED_AT_AGAIN_CHARS
    : at

/** Where a token may begin. */
const { beginnings, forms: byBeginning } = indexed(TOKENS, ({ prefix }) => prefix)

/** Where the next prefix stands within the word, or its end. */
function nextPrefix(given: Codes, from: number, end: number): number {
  let at = nextBeginning(given.codes, from, end)
  while (at < end && !formAt(given, at, end)) at = nextBeginning(given.codes, at + 1, end)
  return at
}

/** Where the next two characters stand that begin a prefix. A loop that calls nothing: every word of every link is read. */
function nextBeginning(codes: Uint16Array, from: number, end: number): number {
  let at = from
  while (at + 1 < end && beginnings[(codes[at]! << 7) | codes[at + 1]!] === 0) at++
  return at + 1 < end ? at : end
}

/** The form whose prefix stands here, within the word. Both characters are ASCII: a word is made of no others. */
function formAt({ codes, text }: Codes, at: number, end: number): TokenForm | undefined {
  for (const form of byBeginning.get(beginningOf(codes[at]!, codes[at + 1]!))!) {
    if (at + form.prefix.length <= end && text.startsWith(form.prefix, at)) return form
  }
  return undefined
}

/** What stands here in this form, as it stands. */
function valueAt(text: string, start: number, { form }: TokenForm): string | null {
  form.lastIndex = start
  return form.exec(text)?.[0] ?? null
}

function tokenOf(value: string, start: number, { prefix, label, isCertain = false }: TokenForm): Match | null {
  if (!isCertain && !isRandom(value.slice(prefix.length))) return null
  return { detector: 'api_token', label, value, start, end: start + value.length }
}
