// A query as PostgreSQL reads it. Every word stands in quotation marks, and words hold nothing that would end them.
import { pairsOf, type Compound } from './lexemes.ts'
import type { Group, Words } from './parse-query.ts'
import { FIELDS } from './words.ts'

/** Null where nothing must occur: then `excluded` alone says what is left out. */
export interface TsQuery {
  required: string | null
  /**
   * What the index can answer alone: as `required`, but words of a phrase may stand anywhere. The same text where it has no
   * phrase. Null: the index says nothing.
   */
  loose: string | null
  /** What counts for the rank: all but what must not occur. */
  ranking: string | null
  excluded: string | null
}

export function tsQueryOf(groups: readonly Group[]): TsQuery {
  const clauses = groups.flatMap(group => (group.kind === 'words' ? [group.any] : []))
  const excluding = clauses.filter(any => any.length === 1 && any[0]!.isNegated)
  const requiring = clauses.filter(any => !excluding.includes(any))
  const excluded = excluding.map(any => term(any[0]!, ADJACENT))
  if (requiring.length === 0) {
    return { required: null, loose: null, ranking: null, excluded: excluded.join(' | ') || null }
  }
  const required = [...requiring.map(any => anyOf(any, ADJACENT)), ...excluded.map(each => `!(${each})`)]
  // A phrase that must not occur says nothing of its words.
  const looseExcluded = excluding.filter(any => !isPhrase(any[0]!)).map(any => `!(${term(any[0]!, ANYWHERE)})`)
  const looseRequired = requiring
    .filter(any => !any.some(each => each.isNegated && isPhrase(each)))
    .map(any => anyOf(any, ANYWHERE))
  const loose = looseRequired.length > 0 ? [...looseRequired, ...looseExcluded].join(' & ') : null
  const wanted = requiring.map(any => any.filter(({ isNegated }) => !isNegated)).filter(any => any.length > 0)
  const ranking = wanted.map(any => anyOf(any, ADJACENT)).join(' & ') || null
  return { required: required.join(' & '), loose, ranking, excluded: null }
}

const ADJACENT = (distance: number): string => (distance > 1 ? ` <${distance}> ` : ' <-> ')
const ANYWHERE = (): string => ' & '
type Joint = (distance: number) => string

const anyOf = (any: readonly Words[], joint: Joint): string =>
  `(${any.map(each => (each.isNegated ? `!(${term(each, joint)})` : term(each, joint))).join(' | ')})`

const isPhrase = (words: Words): boolean =>
  phraseOf(words.compounds, '', { joint: ADJACENT, isPrefix: false }).length > 1

/** All words of a term follow each other. One that is an address or a number is also looked for as a whole. */
function term({ compounds, field, isPrefix }: Words, joint: Joint): string {
  const start = field ? FIELDS[field] : ''
  const parts = phraseOf(compounds, start, { joint, isPrefix })
  const phrase = parts.length > 1 ? `(${parts.join('')})` : parts.join('')
  const [{ wholes }] = compounds as [Compound]
  const [whole] = wholes
  return compounds.length === 1 && whole !== undefined ? `(${lexeme(start + whole, isPrefix)} | ${phrase})` : phrase
}

/**
 * A run of n characters in a script without spaces has n positions in a message: n - 1 pairs and the last character. A single
 * one is looked for as the first of a pair.
 */
function phraseOf(
  compounds: readonly Compound[],
  start: string,
  { joint, isPrefix }: { joint: Joint; isPrefix: boolean },
): string[] {
  const segments = compounds.flatMap(compound => compound.segments)
  const parts: string[] = []
  let distance = 0
  segments.forEach(({ text, isDense }, index) => {
    const pairs = isDense ? pairsOf(text) : []
    const isOpen = isPrefix && index === segments.length - 1
    const words =
      pairs.length > 0 ? pairs.map(pair => lexeme(start + pair, false)) : [lexeme(start + text, isDense || isOpen)]
    words.forEach((word, n) => {
      if (parts.length > 0) parts.push(joint(n === 0 ? distance : 1))
      parts.push(word)
    })
    distance = pairs.length > 0 ? 2 : 1
  })
  return parts
}

const lexeme = (text: string, isPrefix: boolean): string => `'${text}'${isPrefix ? ':*' : ''}`
