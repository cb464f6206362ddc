// The text of Office files: Word, Excel and PowerPoint of 2007 and later (ECMA-376), and OpenDocument (ISO 26300). All are
// zip files of XML; which one it is, its parts say.
import { Gathered, numbered } from './gathered.ts'
import { readXml } from './markup.ts'
import { spreadsheetText } from './spreadsheet.ts'
import { Unreadable } from './unreadable.ts'
import { openZip, type Zip } from './zip.ts'

export function officeText(file: Buffer, charsMax: number): string {
  const zip = openZip(file)
  const has = (name: string): boolean => zip.names.includes(name)
  if (has('word/document.xml')) return documentText(zip, charsMax)
  if (has('xl/workbook.xml')) return spreadsheetText(zip, charsMax)
  if (has('ppt/presentation.xml')) return slidesText(zip, charsMax)
  if (has('content.xml')) return openDocumentText(zip, charsMax)
  throw new Unreadable('It is an archive, and archives are not opened.')
}

const WORD_PARTS = /^word\/(?:header|footer|footnotes|endnotes|comments)\d*\.xml$/

/** Deleted text of a tracked change has an element of its own, and is left out. */
const documentText = (zip: Zip, charsMax: number): string =>
  paragraphs(zip.texts(['word/document.xml', ...zip.names.filter(name => WORD_PARTS.test(name))]), charsMax)

const slidesText = (zip: Zip, charsMax: number): string =>
  paragraphs(
    zip.texts([
      ...numbered(zip.names, /^ppt\/slides\/slide(\d+)\.xml$/),
      ...numbered(zip.names, /^ppt\/notesSlides\/notesSlide(\d+)\.xml$/),
    ]),
    charsMax,
  )

/** Text stands in `t`, and `p` is a paragraph, in Word and PowerPoint alike. */
function paragraphs(parts: readonly string[], charsMax: number): string {
  const text = new Gathered(charsMax)
  let isText = false
  for (const part of parts) {
    readXml(part, {
      onOpen: ({ name, isEmpty }) => {
        isText = name === 't' && !isEmpty
        return name === 'tab' ? text.add('\t') : name === 'br' || name === 'cr' ? text.add('\n') : undefined
      },
      onClose: name => {
        isText = false
        return name === 'p' ? text.add('\n') : name === 'tc' ? text.add('\t') : undefined
      },
      onText: content => (isText ? text.add(content) : undefined),
    })
  }
  return text.value
}

function openDocumentText(zip: Zip, charsMax: number): string {
  const text = new Gathered(charsMax)
  let isBody = false
  for (const part of zip.texts(['content.xml'])) {
    readXml(part, {
      onOpen: ({ name }) => {
        if (name === 'body') isBody = true
        return isBody ? text.add(OPEN_DOCUMENT_SPACE.get(name) ?? '') : undefined
      },
      onClose: name => (isBody ? text.add(OPEN_DOCUMENT_END.get(name) ?? '') : undefined),
      onText: content => (isBody ? text.add(content) : undefined),
    })
  }
  if (!isBody) throw new Unreadable('It is encrypted, or not an OpenDocument file.')
  return text.value
}

/** Maps, because a file may name its elements as the parts of every object are called. */
const OPEN_DOCUMENT_SPACE = new Map(Object.entries({ tab: '\t', s: ' ', 'line-break': '\n' }))
const OPEN_DOCUMENT_END = new Map(Object.entries({ p: '\n', h: '\n', 'table-cell': '\t', 'table-row': '\n' }))
