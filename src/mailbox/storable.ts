// Text that PostgreSQL takes. Mail may hold what it does not: a NUL, or half of a surrogate pair.

/** JSON whose strings are storable. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) => (typeof each === 'string' ? storableText(each) : each))

export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()
