// Reads what a mail server answered. Tolerant: several lines, codes in odd places, no code at all; whatever came is
// kept in one form, so that rules and people can look at it.

export type SmtpReply = {
  /** 0 when the answer held no code. */
  code: number
  /** The enhanced status code of RFC 3463, such as `5.1.1`, or null. */
  enhanced: string | null
  /** The lines joined, without codes, control characters or doubled blanks. */
  text: string
}

export const REPLY_CHARS_MAX = 2_000 // what is kept with an event; of a reply of up to 64 KiB the beginning tells the reason

/** The reply in its raw form, with or without line breaks at the end. */
export function parseReply(raw: string): SmtpReply {
  let code = 0
  let enhanced: string | null = null
  const texts: string[] = []
  // Twice the text that is kept leaves enough for the codes at the start of each line.
  for (const line of raw.slice(0, 2 * REPLY_CHARS_MAX).split(/[\r\n]+/)) {
    const basic = /^\s*([2-5]\d\d)(?!\d)[ -]?/.exec(line)
    const rest = basic ? line.slice(basic[0].length) : line
    const status = /^\s*([245]\.\d{1,3}\.\d{1,3})(?![\d.])[\s:-]*/.exec(rest)
    code ||= basic ? Number(basic[1]) : 0
    enhanced ??= status ? status[1]! : null
    texts.push(status ? rest.slice(status[0].length) : rest)
  }
  const text = texts
    .join(' ')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, REPLY_CHARS_MAX)
    .toWellFormed()
  return { code, enhanced: enhanced ?? strayStatus(text), text }
}

/** One line for logs and events: `550 5.1.1 User unknown`. */
export function formatReply({ code, enhanced, text }: SmtpReply): string {
  return [code || null, enhanced, text].filter(part => part !== null && part !== '').join(' ')
}

/** `#5.1.0`, `(5.7.1)` or `[5.1.1]` inside the text. Without such a mark it might be a version or an IP address. */
function strayStatus(text: string): string | null {
  return /[#([]\s*([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/.exec(text)?.[1] ?? null
}
