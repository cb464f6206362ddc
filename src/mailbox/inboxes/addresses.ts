// The addresses that are the inbox itself, in lower case: its own, and that of the mailbox elsewhere that it mirrors.

interface Addressed {
  address: string
  connection: { address: string } | null
}

export const addressesOf = ({ address, connection }: Addressed): string[] =>
  connection ? [address, connection.address] : [address]

/** Whether mail to this address, in lower case, reaches one of these. */
export const isOwnAddress = (address: string, own: readonly string[]): boolean =>
  own.includes(address) || own.includes(withoutTag(address))

/** `local+tag@` reaches `local@`. Takes a local part alone as well. */
export function withoutTag(address: string): string {
  const plus = address.indexOf('+')
  const at = address.lastIndexOf('@')
  const end = at === -1 ? address.length : at
  return plus > 0 && plus < end ? address.slice(0, plus) + address.slice(end) : address
}
