// Rows of CSV (RFC 4180) that spreadsheets open as what they are: text in UTF-8, and no formulas.

/** By this mark spreadsheets know that the file is UTF-8. */
export const UTF8_MARK = '\uFEFF'

export const csvRow = (fields: readonly string[]): string => `${fields.map(csvField).join(',')}\r\n`

/**
 * A cell that begins like a formula is computed when the file is opened, and tenants choose their names: an apostrophe in
 * front makes it text. Full-width forms are taken for the plain ones in some languages.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

function csvField(text: string): string {
  const plain = FORMULA.test(text) ? `'${text}` : text
  return /[",;\r\n\t']|^\s|\s$/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
