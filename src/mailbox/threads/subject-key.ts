// The subject as replies share it: without Re:, Fwd: and their kin in other languages, case folded, white space joined.

/** How clients mark answers and forwarded mail, in the languages that they are used in. */
const MARKS = new Set(
  `re aw antw antwort res rés rif r sv svar vs odp ynt vá ref reply bls fw fwd wg tr rv enc i doorst vb vl ilt továbbítás
   пересл ответ отв на hа 回复 回覆 答复 答覆 转发 轉寄 轉發 返信 転送 fyi`.split(/\s+/),
)
const MARK = /^\s*(?:\[[^\]]{1,40}\]\s*)?([\p{L}.]{1,12})\s*(?:\[\d{1,4}\]|\(\d{1,4}\)|\^\d{1,4})?\s*[::]/u
const MARKS_MAX = 20
const KEY_CHARS_MAX = 200

/** Empty where nothing is left: such mail is joined by its references alone. */
export function subjectKey(subject: string): string {
  let rest = subject.slice(0, 1_000)
  for (let count = 0; count < MARKS_MAX; count++) {
    const found = MARK.exec(rest)
    if (!found || !MARKS.has(found[1]!.toLowerCase())) break
    rest = rest.slice(found[0].length)
  }
  return rest.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim().slice(0, KEY_CHARS_MAX).toWellFormed()
}
