// Text that PostgreSQL takes. Mail may hold what it does not: a NUL, or half of a surrogate pair.

/** JSON whose strings are storable. What is not is escaped in JSON; most mail has none, and is not looked at once more. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value)
  return json.includes(String.raw`\u`) ? JSON.stringify(value, storableStrings) : json
}

const storableStrings = (_key: string, each: unknown): unknown => (typeof each === 'string' ? storableText(each) : each)

export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()
