// The beginning of a text, for lists.

const SNIPPET_CHARS_MAX = 200

/** All but a space that stands alone, which need not be replaced by a space. */
const BLANKS = / [\s\p{Cc}\p{Cf}\u034f]+|[[\s\p{Cc}\p{Cf}\u034f]--[ ]][\s\p{Cc}\p{Cf}\u034f]*/gv

/** The addresses of links are left out: they are long, and say little. */
export function snippetOf(text: string): string {
  const folded = text
    .slice(0, 10 * SNIPPET_CHARS_MAX)
    .replaceAll(/ ?<https?:\/\/[^\s<>]*>/g, '')
    .replaceAll(BLANKS, ' ')
    .trim()
  return folded
    .slice(0, SNIPPET_CHARS_MAX)
    .toWellFormed()
    .replace(/\ufffd$/, '')
    .trim()
}
