// The name of an inbox within its domain.
import { parseAddressOnly } from '../../mail/address/address.ts'
import { refuse } from '../../platform/refusal.ts'

/** In lower case: `Info@` and `info@` reach the same inbox. */
export function readLocalPart(given: string, domain: string): string {
  const local = given.trim().toLowerCase()
  if (/[^\0-\x7f]/.test(local)) {
    throw refuse('invalid_request', 'body.local_part must be ASCII: most mail servers cannot deliver to other names.')
  }
  if (local.includes('+')) {
    throw refuse('invalid_request', 'body.local_part must not contain +: mail to name+tag@ reaches the inbox name@.')
  }
  const address = local.startsWith('"') ? null : parseAddressOnly(`${local}@${domain}`)
  if (address?.local !== local || local.includes('@')) {
    throw refuse(
      'invalid_request',
      "body.local_part must be letters, digits and !#$%&'*/=?^_`{|}~- in words parted by dots, at most 64 characters.",
    )
  }
  return local
}
