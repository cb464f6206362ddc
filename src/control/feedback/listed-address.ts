// The form in which addresses stand on the suppression lists and are looked for there.

/** Nobody runs two mailboxes that differ by case. Always made small here: the database has other rules for some letters. */
export const listedAddress = (address: string): string => address.toLowerCase()
