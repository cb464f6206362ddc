// Files as people attach them, made by hand: small PDFs, and zips of XML as office programs write them.
import { deflateSync } from 'node:zlib'
import { strToU8, zipSync } from 'fflate'

/** A page per text. `pack` changes the bytes of each page's content and names the filter that undoes it. */
export function aPdf(pages: readonly string[], { pack = plain, extra = '' }: PdfOptions = {}): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`)
  const objects = [
    Buffer.from(`<< /Type /Catalog /Pages 2 0 R >>`),
    Buffer.from(`<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages.length} ${extra} >>`),
    Buffer.from(`<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>`),
    ...pages.flatMap((page, index) => {
      const { bytes, filter } = pack(Buffer.from(`BT /F1 12 Tf 72 720 Td (${page}) Tj ET`, 'latin1'))
      const dictionary = `/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>`
      return [
        Buffer.from(`<< /Type /Page ${dictionary} /Contents ${5 + 2 * index} 0 R >>`),
        Buffer.concat([
          Buffer.from(`<< /Length ${bytes.length} ${filter} >>\nstream\n`),
          bytes,
          Buffer.from('\nendstream'),
        ]),
      ]
    }),
  ]
  return pdfOf(objects)
}

interface PdfOptions {
  pack?: (content: Buffer) => { bytes: Buffer; filter: string }
  /** In the dictionary of the pages. */
  extra?: string
}

const plain = (bytes: Buffer) => ({ bytes, filter: '' })
export const deflated = (content: Buffer) => ({ bytes: deflateSync(content), filter: '/Filter /FlateDecode' })

function pdfOf(objects: readonly Buffer[], trailer = ''): Buffer {
  const parts = [Buffer.from('%PDF-1.4\n')]
  const offsets: number[] = []
  let length = parts[0]!.length
  objects.forEach((object, index) => {
    offsets.push(length)
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')])
    parts.push(part)
    length += part.length
  })
  const rows = offsets.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`)
  parts.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows.join('')}trailer\n` +
        `<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  )
  return Buffer.concat(parts)
}

/** As encrypted ones look: it asks for a password that nobody gave. */
export const anEncryptedPdf = (): Buffer =>
  pdfOf(
    [
      Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
      Buffer.from('<< /Type /Pages /Kids [] /Count 0 >>'),
      Buffer.from(`<< /Filter /Standard /V 1 /R 2 /O <${'00'.repeat(32)}> /U <${'11'.repeat(32)}> /P -4 /Length 40 >>`),
    ],
    `/Encrypt 3 0 R /ID [<${'22'.repeat(16)}> <${'22'.repeat(16)}>]`,
  )

export const aZip = (entries: Record<string, string | Uint8Array>): Buffer =>
  Buffer.from(
    zipSync(
      Object.fromEntries(
        Object.entries(entries).map(([name, content]) => [
          name,
          typeof content === 'string' ? strToU8(content) : content,
        ]),
      ),
    ),
  )

const xml = (root: string) => `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${root}`

export const aWordFile = (paragraphs: readonly string[]): Buffer =>
  aZip({
    '[Content_Types].xml': xml('<Types/>'),
    'word/document.xml': xml(
      `<w:document xmlns:w="w"><w:body>${paragraphs.map(text => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`).join('')}</w:body></w:document>`,
    ),
    'word/header1.xml': xml('<w:hdr xmlns:w="w"><w:p><w:r><w:t>Letterhead</w:t></w:r></w:p></w:hdr>'),
  })

export const aSpreadsheet = (): Buffer =>
  aZip({
    'xl/workbook.xml': xml('<workbook/>'),
    'xl/sharedStrings.xml': xml(
      '<sst><si><t>Customer</t></si><si><r><t>Mül</t></r><r><t>ler</t></r><rPh><t>reading</t></rPh></si><si/></sst>',
    ),
    'xl/worksheets/sheet1.xml': xml(
      '<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>1234.5</v></c></row>' +
        '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="inlineStr"><is><t>open &amp; due</t></is></c></row></sheetData></worksheet>',
    ),
    'xl/worksheets/sheet10.xml': xml('<worksheet><sheetData><row><c><v>10</v></c></row></sheetData></worksheet>'),
    'xl/worksheets/sheet2.xml': xml('<worksheet><sheetData><row><c><v>2</v></c></row></sheetData></worksheet>'),
  })

export const aPresentation = (slides: readonly string[]): Buffer =>
  aZip({
    'ppt/presentation.xml': xml('<p:presentation xmlns:p="p"/>'),
    ...Object.fromEntries(
      slides.map((text, index) => [
        `ppt/slides/slide${index + 1}.xml`,
        xml(`<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`),
      ]),
    ),
    'ppt/notesSlides/notesSlide1.xml': xml(
      '<p:notes xmlns:a="a"><a:p><a:r><a:t>Speak slowly</a:t></a:r></a:p></p:notes>',
    ),
  })

export const anOpenDocument = (elements = ''): Buffer =>
  aZip({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml': xml(
      '<office:document-content xmlns:office="o" xmlns:text="t"><office:styles>not shown</office:styles><office:body><text:h>Heading</text:h>' +
        '<text:p>First<text:tab/>second<text:line-break/>third</text:p>' +
        `${elements}</office:body></office:document-content>`,
    ),
  })
