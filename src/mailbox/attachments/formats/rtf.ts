// The text of a file in Rich Text Format, as a reader shows it: without its control words, and without the groups that hold
// fonts, colours, pictures and what a program keeps for itself.

/** A control word with its number and the blank that ends it, a control symbol, a brace, a line end, or text. */
const PART = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)/giy

const BREAKS = new Set(['par', 'line', 'sect', 'page', 'cell', 'row', 'tab', 'column'])
const HIDDEN = new Set(['fonttbl', 'colortbl', 'stylesheet', 'pict', 'themedata', 'colorschememapping', 'generator'])
const SYMBOLS: Readonly<Record<string, string>> = { '~': ' ', _: '-', '-': '', '\n': '\n', '\r': '\n' }

interface Group {
  isHidden: boolean
  /** How many characters follow a character by number, for readers that do not know it. */
  fallback: number
}

export const isRtf = (content: Buffer): boolean =>
  content.subarray(0, 64).toString('latin1').trimStart().startsWith('{\\rtf')

export function rtfText(content: Buffer): string {
  const source = content.toString('latin1')
  const texts: string[] = []
  const outer: Group[] = []
  let group: Group = { isHidden: false, fallback: 1 }
  let skipped = 0
  const say = (text: string): void => {
    const shown = text.slice(skipped)
    skipped = Math.max(0, skipped - text.length)
    if (!group.isHidden) texts.push(shown)
  }
  PART.lastIndex = 0
  for (let part = PART.exec(source); part; part = PART.exec(source)) {
    const [, word, number, hex, symbol, brace, text] = part
    if (brace === '{') {
      outer.push(group)
      group = { ...group }
    } else if (brace === '}') group = outer.pop() ?? group
    else if (hex !== undefined) say(WESTERN.decode(Buffer.from(hex, 'hex')))
    else if (symbol === '*') group.isHidden = true
    else if (symbol !== undefined) say(SYMBOLS[symbol] ?? symbol)
    else if (text !== undefined) say(text)
    else if (word === 'u' && number !== undefined) {
      if (!group.isHidden) texts.push(String.fromCharCode(Number(number) & 0xffff))
      skipped = group.fallback
    } else if (word === 'uc' && number !== undefined) group.fallback = Math.min(Math.max(Number(number), 0), 10)
    else if (word !== undefined && HIDDEN.has(word)) group.isHidden = true
    else if (word !== undefined && BREAKS.has(word)) say('\n')
  }
  return texts.join('')
}

const WESTERN = new TextDecoder('windows-1252')
