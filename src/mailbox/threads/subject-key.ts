// What mails have in common that no reference joins: who takes part, and the subject as replies share it, without Re:, Fwd: and
// their kin in other languages, case folded, white space joined.
import { subjectMark } from '../../mail/text/subject-marks.ts'

/** Mail of the same subject joins what was active so lately. */
export const ALIKE_MS = 30 * 86_400_000

const MARKS_MAX = 20
const KEY_CHARS_MAX = 200

/** Empty where nothing is left: such mail is joined by its references alone. */
export function subjectKey(subject: string): string {
  let rest = subject.slice(0, 1_000)
  for (let count = 0; count < MARKS_MAX; count++) {
    const mark = subjectMark(rest)
    if (!mark) break
    rest = rest.slice(mark.length)
  }
  return rest.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim().slice(0, KEY_CHARS_MAX).toWellFormed()
}

/** At the most: a mail to a thousand would otherwise be carried along for ever. Those named first stand for all. */
export const PARTICIPANTS_MAX = 100
