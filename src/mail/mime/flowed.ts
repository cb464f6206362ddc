// format=flowed (RFC 3676): a line that ends in a blank goes on in the next line of the same quote depth.

/** The text with its paragraphs in one line each; `delSp` says that the blank was put in only for this. */
export function unflow(text: string, delSp: boolean): string {
  const lines: string[] = []
  let paragraph: { depth: number; pieces: string[] } | null = null
  const finish = (): void => {
    if (!paragraph) return
    lines.push((paragraph.depth > 0 ? `${'>'.repeat(paragraph.depth)} ` : '') + paragraph.pieces.join(''))
    paragraph = null
  }
  for (const raw of text.split(/\r?\n/)) {
    const depth = /^>*/.exec(raw)![0].length
    // One blank protects lines that would look like something else (§4.4).
    const line = raw.slice(depth).replace(/^ /, '')
    const isSignature = line === '-- '
    if (paragraph && (paragraph.depth !== depth || isSignature)) finish()
    paragraph ??= { depth, pieces: [] }
    const isSoft = line.endsWith(' ') && !isSignature
    paragraph.pieces.push(isSoft && delSp ? line.slice(0, -1) : line)
    if (!isSoft) finish()
  }
  finish()
  return lines.join('\n')
}
