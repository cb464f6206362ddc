// How clients mark answers and forwarded mail at the beginning of a subject, in the languages that they are used in.

const REPLY = setOf(
  `re aw antw antwort res rés rif r sv svar vs odp ynt vá ref reply bls ответ отв на hа 回复 回覆 答复 答覆 返信`,
)
const FORWARD = setOf(`fw fwd wg tr rv enc i doorst vb vl ilt továbbítás пересл 转发 轉寄 轉發 転送 fyi`)

/** Behind what a list or a gateway has put before it, such as [EXTERNAL], and perhaps with a count. */
const MARK = /^\s*(?:\[[^\]]{1,40}\]\s*)?([\p{L}.]{1,12})\s*(?:\[\d{1,4}\]|\(\d{1,4}\)|\^\d{1,4})?\s*[:：]/u

interface SubjectMark {
  kind: 'reply' | 'forward'
  /** Characters until the end of the mark. */
  length: number
}

/** The first mark; null where the subject begins with none. */
export function subjectMark(subject: string): SubjectMark | null {
  const found = MARK.exec(subject)
  const word = found?.[1]!.toLowerCase()
  if (!found || word === undefined) return null
  if (REPLY.has(word)) return { kind: 'reply', length: found[0].length }
  return FORWARD.has(word) ? { kind: 'forward', length: found[0].length } : null
}

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}
