// The id of a message in a field that should hold one.

export const MESSAGE_ID_CHARS_MAX = 998 // a line, RFC 5322 §2.1.1

/** With angle brackets. Some clients write words beside the id, or forget the brackets. */
export function messageIdIn(value: string): string | null {
  const text = value.slice(0, 4 * MESSAGE_ID_CHARS_MAX)
  const bare = /^\s*([^<>\s]+)\s*$/.exec(text)?.[1]
  const id = /<[^<>\s]+>/.exec(text)?.[0] ?? (bare === undefined ? null : `<${bare}>`)
  return id !== null && id.length <= MESSAGE_ID_CHARS_MAX ? id : null
}
