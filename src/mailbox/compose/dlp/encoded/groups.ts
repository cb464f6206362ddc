// Encoded text that was cut into groups of one length, with blanks between them or in lines that are quoted or indented.
import { endOfBase64, isBase64At, type Codes } from '../characters.ts'

/** Between two positions that are looked at: fewer characters in groups stand for nothing that is looked for. */
const PROBE_STEP = 20
const CHARS_MIN = 20
const [GROUP_MIN, GROUP_MAX] = [2, 100]
/** Blanks and marks of quotation between two groups. */
const GAP_MAX = 16

/** The beginnings of groups, and where the last one ends: one may be shorter than the others there. */
export function groupsIn(given: Codes): number[][] {
  const { codes } = given
  const groups: number[][] = []
  for (let probe = PROBE_STEP - 1; probe < codes.length; probe += PROBE_STEP) {
    // Most are within words of prose, which are told first: every mail is made of them.
    const within = isBlank(codes[probe]!) ? probe + 1 : probe
    if (isWordAround(codes, within) || !isBase64At(given, within)) continue
    const start = beginOf(given, within)
    const end = endOfBase64(given, within)
    const size = end - start
    if (size < GROUP_MIN || size > GROUP_MAX) probe = Math.max(probe, end)
    else if (!isFigure(codes, start, end) && isBesideEqual(given, start, end)) {
      const starts = groupsAround(given, start, end)
      if ((starts.length - 1) * size >= CHARS_MIN) groups.push(starts)
      probe = Math.max(probe, starts.at(-1)!)
    }
  }
  return groups
}

const isBlank = (code: number): boolean => code === 32 || code === 10

/** Small letters alone, but for the first: hardly any group is without a capital or a digit, and most words are. */
function isWordAround(codes: Uint16Array, within: number): boolean {
  let at = within
  while (at < within + GROUP_MAX && isSmall(codes[at])) at++
  if (at < codes.length && codes[at]! > 32 && codes[at] !== 46 && codes[at] !== 44) return false
  at = within
  while (at > within - GROUP_MAX && isSmall(codes[at])) at--
  return at !== within && (at < 1 || codes[at]! <= 32 || codes[at - 1]! <= 32)
}

const isSmall = (code: number | undefined): boolean => code !== undefined && ((code - 97) & 0xffff) <= 25

/** Digits alone are no base64 of a text, and hexadecimal digits of one are pairs that begin with 2 to 7. */
function isFigure(codes: Uint16Array, start: number, end: number): boolean {
  let isPairs = (end - start) % 2 === 0
  for (let at = start; at < end; at++) {
    const digit = codes[at]! - 48
    if (digit < 0 || digit > 9) return false
    if ((at - start) % 2 === 0 && (digit < 2 || digit > 7)) isPairs = false
  }
  return !isPairs
}

function isBesideEqual(given: Codes, start: number, end: number): boolean {
  const next = behindGap(given, end)
  if (next !== -1 && endOfBase64(given, next) - next === end - start) return true
  return groupBefore(given, start, end - start) !== -1
}

function groupsAround(given: Codes, start: number, end: number): number[] {
  const size = end - start
  let first = start
  for (let before = groupBefore(given, first, size); before !== -1; before = groupBefore(given, first, size))
    first = before
  const starts = [first]
  let last = first + size
  for (let next = behindGap(given, last); next !== -1; next = behindGap(given, last)) {
    last = endOfBase64(given, next)
    if (last - next > size) {
      last = starts.at(-1)! + size
      break
    }
    starts.push(next)
    if (last - next < size) break
  }
  return [...starts, last]
}

/** Where the next group begins; -1 where something else stands between. */
function behindGap(given: Codes, end: number): number {
  let at = end
  while (at < end + GAP_MAX && isGap(given.codes[at])) at++
  return at > end && isBase64At(given, at) ? at : -1
}

function groupBefore(given: Codes, start: number, size: number): number {
  let at = start - 1
  while (at >= start - GAP_MAX && isGap(given.codes[at])) at--
  if (at === start - 1 || !isBase64At(given, at)) return -1
  const begin = beginOf(given, at)
  return at + 1 - begin === size ? begin : -1
}

function beginOf(given: Codes, from: number): number {
  let at = from
  while (at > from - GROUP_MAX - 1 && isBase64At(given, at - 1)) at--
  return at
}

const gaps = new Uint8Array(128)
for (const mark of ' \t\n\r>|') gaps[mark.charCodeAt(0)] = 1

const isGap = (code: number | undefined): boolean => code !== undefined && code < 128 && gaps[code] === 1
