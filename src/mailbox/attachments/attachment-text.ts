// What reading an attached file comes to: its text, or why there is none.
import { Unreadable } from './formats/unreadable.ts'

export type AttachmentText =
  | { kind: 'text'; text: string; /** There was more. */ isCut: boolean }
  | { kind: 'none'; reason: string }

/** About 150,000 words: a long book. */
export const TEXT_CHARS_MAX = 1_000_000

/** It was read, and nothing is written in it: a scanned page, a drawing. */
export const NO_TEXT = 'It contains no text.'

/** Hostile files break readers in ways of all kinds, so whatever is thrown means that the file cannot be read. */
export async function textFrom(read: () => string | Promise<string>): Promise<AttachmentText> {
  try {
    return presentable(await read())
  } catch (error) {
    return { kind: 'none', reason: error instanceof Unreadable ? error.message : 'It is broken.' }
  }
}

/** Without what the database cannot store or nobody can read: control characters, half characters, white space in heaps. */
function presentable(read: string): AttachmentText {
  const text = read
    .slice(0, 2 * TEXT_CHARS_MAX)
    // oxlint-disable-next-line no-control-regex -- these are the ones that go
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')
    .replace(/\r\n?/g, '\n')
    .replace(/[^\S\n\t]+/g, ' ')
    .replace(/[ \t]*\n\s*/g, '\n')
    .trim()
  if (text === '') return { kind: 'none', reason: NO_TEXT }
  const isCut = text.length > TEXT_CHARS_MAX || read.length > 2 * TEXT_CHARS_MAX
  return { kind: 'text', text: text.slice(0, TEXT_CHARS_MAX).toWellFormed(), isCut }
}
