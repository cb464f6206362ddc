/**
 * For what is remembered: a slice of a mail keeps all of the mail in memory, also where it was trimmed or brought to lower case
 * without a change.
 */
export const ownCopy = (slice: string): string => Buffer.from(slice, 'utf16le').toString('utf16le')
