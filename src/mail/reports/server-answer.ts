// Finds what a remote server answered in text that was written for people: a code, perhaps an enhanced one, and words,
// however the lines were broken.

const ANSWER_CHARS_MAX = 500

/**
 * The lines as they were before somebody folded them: a line belongs to the one above it unless a blank line, a code or a
 * mark of a transcript opens it. Lines of one reply (`550-`) stay together.
 */
export function logicalLines(text: string): string[] {
  const lines: string[][] = []
  let isOpen = false
  /** The last code announced another line of the same reply. */
  let isContinued = false
  for (const raw of text.split('\n')) {
    const line = raw.trim()
    if (line === '') {
      isOpen = false
      continue
    }
    if (isOpen && (isContinued || !OPENS.test(line))) lines.at(-1)!.push(line)
    else lines.push([line])
    const code = [...line.slice(-CODE_WITHIN).matchAll(/(?:^|\s)[45]\d\d([ -])/g)].at(-1)
    if (!isOpen || code) isContinued = code?.[1] === '-'
    isOpen = true
  }
  return lines.map(parts => parts.join(' '))
}

const OPENS = /^(?:<<<|\.\.\.|-{3,}|[45]\d\d[ -]|giving up|i'm not going to|remote host said)/i
/** How far from the end of its line a code is looked for. */
const CODE_WITHIN = 400

const ENHANCED = String.raw`[45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)`
const BEFORE = '(?:said|code|error|returned|reply|response|responded with|reason|status)'
/** From sure to unsure; the first form that is found anywhere wins. */
const FORMS: readonly RegExp[] = [
  // A basic code with its enhanced one: `550 5.1.1`, `550-5.1.1`, `550: 5.1.1`, `550 (#5.1.1)`, `550-'5.4.1`.
  new RegExp(String.raw`(?<![\d.@\w])[45]\d\d[ :,'"#(-]{1,4}${ENHANCED}`),
  // A basic code where an answer begins: at the start of a line, after a colon, a quote, an arrow, a bracket or a word. Of
  // an arrow or a rule only the last mark is looked at: a run of them is as long as its author likes.
  new RegExp(String.raw`(?:^|[:'"#(>]\s?|(?:<<<|=>|[*-]) |\b${BEFORE}[\s:]{1,3})[45]\d\d(?=[\s:,-]+[^\d\s]|:|-)`),
]
/** An enhanced code alone: the words may stand on either side of it. */
const BARE = new RegExp(String.raw`(?:^|[\s#(:'"[])(${ENHANCED})`)

/** The answer in logical lines, from its code on to the end of its line; null where there is no code. */
export function answerIn(lines: readonly string[]): string | null {
  for (const form of FORMS) {
    for (const [index, line] of lines.entries()) {
      const match = form.exec(line)
      if (!match) continue
      const start = match.index + match[0].search(/[45]/)
      const found = line.slice(start, start + ANSWER_CHARS_MAX)
      // A code alone on its line has its words on the next.
      const words = /[a-z]{3}/i.test(found) ? '' : ` ${lines[index + 1] ?? ''}`
      return tidied(`${found}${words}`)
    }
  }
  const line = lines.find(each => BARE.test(each))
  return line === undefined ? null : `${BARE.exec(line)![1]} ${tidied(line)}`
}

const tidied = (answer: string): string =>
  answer
    .slice(0, ANSWER_CHARS_MAX)
    .replace(/^([45]\d\d)[ :,'"#(-]{1,4}(?=[45]\.\d{1,3}\.\d)/, '$1 ')
    .replace(/^([45]\d\d)[ ]?[:,][ ]?/, '$1 ')
    .replace(/['">#\s]+$/, '')
