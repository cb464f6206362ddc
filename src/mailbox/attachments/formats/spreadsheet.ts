// The cells of an Excel file, sheet by sheet and row by row, with tabs between them. Texts stand once in a table of their own
// and cells name them by number.
import { Gathered, numbered } from './gathered.ts'
import { attributeOf, readXml } from './markup.ts'
import type { Zip } from './zip.ts'

export function spreadsheetText(zip: Zip, charsMax: number): string {
  const [strings = ''] = zip.texts(['xl/sharedStrings.xml'])
  const sheets = zip.texts(numbered(zip.names, /^xl\/worksheets\/sheet(\d+)\.xml$/))
  const shared = sharedStrings(strings, charsMax)
  const text = new Gathered(charsMax)
  for (const sheet of sheets) if (!text.isFull) readSheet(sheet, shared, text)
  return text.value
}

/** The readings of Japanese words (`rPh`) stand beside the words and are left out. */
function sharedStrings(xml: string, charsMax: number): string[] {
  const strings: string[] = []
  let current: string[] = []
  let [isText, isReading] = [false, false]
  let length = 0
  readXml(xml, {
    onOpen: ({ name, isEmpty }) => {
      isText = name === 't' && !isEmpty
      if (name === 'rPh' && !isEmpty) isReading = true
      if (name === 'si' && isEmpty) strings.push('')
    },
    onClose: name => {
      isText = false
      if (name === 'rPh') isReading = false
      if (name !== 'si') return
      strings.push(current.join(''))
      current = []
    },
    onText: content => {
      if (!isText || isReading) return
      current.push(content)
      length += content.length
      return length >= charsMax ? 'stop' : undefined
    },
  })
  return strings
}

function readSheet(xml: string, shared: readonly string[], text: Gathered): void {
  let type: string | null = null
  let isValue = false
  readXml(xml, {
    onOpen: ({ name, attributes, isEmpty }) => {
      if (name === 'c') type = attributeOf(attributes, 't')
      isValue = (name === 'v' || name === 't') && !isEmpty
    },
    onClose: name => {
      isValue = false
      return name === 'c' ? text.add('\t') : name === 'row' || name === 'sheetData' ? text.add('\n') : undefined
    },
    onText: content => (isValue ? text.add(type === 's' ? (shared[Number(content)] ?? '') : content) : undefined),
  })
}
