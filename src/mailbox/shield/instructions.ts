// Finds instructions aimed at a machine in a text, whatever language they are in and however they are disguised.
import { shown } from './finding.ts'
import { HELPER_CALL, MACHINE_CALL, MACHINE_CALL_ABROAD, MODE, OPEN_LINK, REPLY_WITH, YOUR_TOOL } from './calls.ts'
import { RULES, type InstructionRule } from './instruction-rules.ts'
import { chinese } from './lexicon/chinese.ts'
import { CONCEPTS, type Concept } from './lexicon/concept.ts'
import { dutch } from './lexicon/dutch.ts'
import { english } from './lexicon/english.ts'
import { french } from './lexicon/french.ts'
import { further } from './lexicon/further.ts'
import { german } from './lexicon/german.ts'
import { italian } from './lexicon/italian.ts'
import { japanese } from './lexicon/japanese.ts'
import { polish } from './lexicon/polish.ts'
import { portuguese } from './lexicon/portuguese.ts'
import { russian } from './lexicon/russian.ts'
import { spanish } from './lexicon/spanish.ts'
import { ADDRESS, HIDDEN_MARK, MARKERS, MESSAGE_ID, TOOL_NAME } from './markers.ts'
import { decodings, normalise, tagText } from './normalise.ts'
import { conceptIndex, Phrases, type Found } from './phrases.ts'

const LANGUAGES = [
  english,
  german,
  french,
  spanish,
  italian,
  portuguese,
  dutch,
  polish,
  russian,
  japanese,
  chinese,
  further,
]
const phrases = new Phrases(LANGUAGES)

interface Options {
  /** Text that no reader sees: speech about attacks is no excuse there, because nobody reads it. */
  isHidden?: boolean
}

/** What was seen, with the words, or null. */
export function findInstructions(text: string, { isHidden = false }: Options = {}): string | null {
  if (text === '') return null
  const plain = normalise(text)
  const tags = tagText(text)
  if (tags !== '') {
    const inTags = inPlain(normalise(tags), true)
    if (inTags) return `${inTags} (in characters that nobody sees)`
  }
  const direct = inPlain(plain, isHidden)
  if (direct) return direct
  for (const { how, text: decoded } of decodings(text, plain)) {
    const inside = inPlain(normalise(decoded), true)
    if (inside) return `${inside} (in ${how})`
  }
  return null
}

function inPlain(plain: string, isHidden: boolean): string | null {
  const hits = [...markerHits(plain), ...ruleHits(plain)]
  if (hits.length === 0) return null
  const quotes = isHidden ? null : speechAboutAttacks(plain)
  const hit = hits.find(each => !quotes?.excuses(each))
  if (!hit) return null
  const from = Math.max(0, hit.start - 10)
  return `${hit.seen}: “${shown(plain.slice(from, Math.max(hit.end, from + 60)), WORDS_SHOWN_MAX)}”`
}

const WORDS_SHOWN_MAX = 110
/** Nobody speaks about attacks as often as this; what is beyond counts as found. */
const HITS_MAX = 200

interface Hit {
  seen: string
  start: number
  end: number
  position: number
}

function* markerHits(plain: string): Generator<Hit> {
  for (const { seen, pattern } of MARKERS) {
    const match = pattern.exec(plain)
    if (match) yield { seen, start: match.index, end: match.index + match[0].length, position: -1 }
  }
}

/** Rules with their concepts as indexes. */
interface IndexedRule {
  seen: string
  all: readonly (readonly number[])[]
  /** The same parts, the one with the fewest phrases first: it is missing most often. */
  rarestFirst: readonly (readonly number[])[]
  within: number
  /** What excuses anywhere near. */
  unless: readonly number[]
  /** What excuses only right before a part: who speaks of himself in one sentence may order in the next. */
  unlessBefore: readonly number[]
}

const RIGHT_BEFORE: readonly Concept[] = ['firstPerson', 'never']
const RIGHT_BEFORE_WORDS = 5

const phrasesOf = (part: readonly Concept[]): number =>
  LANGUAGES.flatMap(lexicon => part.map(concept => lexicon[concept]?.split('|').length ?? 0)).reduce((a, b) => a + b, 0)

const INDEXED: readonly IndexedRule[] = RULES.map(({ seen, all, within, unless = [] }: InstructionRule) => ({
  seen,
  all: all.map(each => each.map(conceptIndex)),
  rarestFirst: all.toSorted((a, b) => phrasesOf(a) - phrasesOf(b)).map(each => each.map(conceptIndex)),
  within,
  unless: unless.filter(each => !RIGHT_BEFORE.includes(each)).map(conceptIndex),
  unlessBefore: unless.filter(each => RIGHT_BEFORE.includes(each)).map(conceptIndex),
}))
const RULES_OF: readonly (readonly IndexedRule[])[] = CONCEPTS.map((_, concept) =>
  INDEXED.filter(({ all }) => all.some(each => each.includes(concept))),
)

/** Where each concept occurred last. */
interface Last {
  position: Float64Array
  start: Int32Array
}

/** Rules are checked when one of their concepts occurs, against the last occurrence of the others. */
function ruleHits(plain: string): Hit[] {
  const hits: Hit[] = []
  const pending: { hit: Hit; rule: IndexedRule }[] = []
  const last: Last = {
    position: new Float64Array(CONCEPTS.length).fill(-1_000),
    start: new Int32Array(CONCEPTS.length),
  }
  const marks = findMarks(plain)
  let nextMark = 0
  const take: Found = (concept, position, start, end) => {
    last.position[concept] = position
    last.start[concept] = start
    for (const { hit, rule } of pending) {
      // What excuses may also follow.
      if (position - hit.position <= EXCUSE_AFTER_WORDS && rule.unless.includes(concept)) hit.position = EXCUSED
    }
    if (hits.length >= HITS_MAX) return
    for (const rule of RULES_OF[concept]!) {
      const from = matchStart(rule, last, position)
      if (from === -1) continue
      const hit = { seen: rule.seen, start: from, end, position }
      hits.push(hit)
      pending.push({ hit, rule })
      if (pending.length > PENDING_MAX) pending.shift()
    }
  }
  phrases.scan(plain, take, (start, position) => {
    for (; nextMark < marks.length && marks[nextMark]!.start <= start; nextMark++) {
      const mark = marks[nextMark]!
      take(mark.concept, position, mark.start, mark.end)
    }
  })
  return hits.filter(({ position }) => position !== EXCUSED)
}

const EXCUSED = -2_000
const EXCUSE_AFTER_WORDS = 5
const PENDING_MAX = 8

/** Where the match begins, or -1. */
function matchStart(rule: IndexedRule, last: Last, position: number): number {
  const { all, rarestFirst, within, unless, unlessBefore } = rule
  const oldest = position - within
  // Most often one part is missing, and this tells it without more ado.
  for (const part of rarestFirst) if (!hasOccurred(part, last, oldest)) return -1
  if (hasOccurred(unless, last, oldest)) return -1
  const used: number[] = []
  for (const part of all) {
    let nearest = -1
    for (const concept of part) {
      // One word does not stand for two parts of a rule.
      if (last.position[concept]! < oldest || used.includes(last.start[concept]!)) continue
      if (nearest === -1 || last.position[concept]! > last.position[nearest]!) nearest = concept
    }
    if (nearest === -1) return -1
    used.push(last.start[nearest]!)
    for (const excuse of unlessBefore) {
      const words = last.position[nearest]! - last.position[excuse]!
      if (words >= 0 && words <= RIGHT_BEFORE_WORDS) return -1
    }
  }
  return used.reduce((first, start) => Math.min(first, start))
}

/** Asked for each phrase of a text, so without a function per question. */
function hasOccurred(concepts: readonly number[], { position }: Last, oldest: number): boolean {
  for (const concept of concepts) if (position[concept]! >= oldest) return true
  return false
}

interface Mark {
  concept: number
  start: number
  end: number
}

const MARKS_MAX = 5_000

/** Addresses and names of tools, in their order. */
function findMarks(plain: string): Mark[] {
  const marks: Mark[] = []
  for (const [concept, pattern] of [
    ['address', ADDRESS],
    ['tool', TOOL_NAME],
    ['hiddenMark', HIDDEN_MARK],
    ['bulk', MESSAGE_ID],
    ['machineCall', MACHINE_CALL],
    ['machineCall', MACHINE_CALL_ABROAD],
    ['agentCall', HELPER_CALL],
    ['unlock', MODE],
    ['agentCall', YOUR_TOOL],
    ['replyWith', REPLY_WITH],
    ['openLink', OPEN_LINK],
  ] as const) {
    let count = 0
    for (const match of plain.matchAll(pattern)) {
      if (++count > MARKS_MAX) break
      marks.push({ concept: conceptIndex(concept), start: match.index, end: match.index + match[0].length })
    }
  }
  return marks.toSorted((left, right) => left.start - right.start)
}

/** Where a text speaks about attacks: what it quotes there, or tells there of others, is no order. */
function speechAboutAttacks(plain: string): { excuses: (hit: Hit) => boolean } | null {
  const starts: number[] = []
  phrases.scan(plain, (concept, _, start) => {
    if (concept === ABOUT_ATTACKS && starts.length < MARKS_MAX) starts.push(start)
  })
  if (starts.length === 0) return null
  return {
    excuses: ({ start, end }) => {
      const isNear = starts.some(at => at > start - NEAR_CHARS && at < end + NEAR_CHARS)
      // An order that names where to send things is meant, whatever is spoken of around it.
      return isNear && plain.slice(start, end + 60).search(ADDRESS) === -1
    },
  }
}

const NEAR_CHARS = 240
const ABOUT_ATTACKS = conceptIndex('aboutAttacks')
