// Names of folders: as they are shown, and as they are compared.
import { refuse } from '../../platform/refusal.ts'

export const CHARS_MAX = 64
/** Nothing invisible that could end a line or turn its direction round; joiners within emoji are fine. */
export const UNSAFE = /[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufeff]/u

/** As it is shown: composed, without blanks around it. Slashes are part of a name. */
export function readFolderName(given: string): string {
  const name = given.normalize('NFC').trim()
  const length = Array.from(name).length
  if (length === 0 || length > CHARS_MAX) throw invalid(`must have 1 to ${CHARS_MAX} characters`)
  if (UNSAFE.test(name)) throw invalid('must not contain control characters')
  // As the last segment of a path, clients and proxies take these for steps.
  if (name === '.' || name === '..') throw invalid('must not be . or ..')
  if (folderKey(name) === '') throw invalid('must contain something that can be seen')
  return name
}

const invalid = (rule: string) => refuse('invalid_request', `body.name ${rule}.`)

/**
 * As it is compared: "Été", "ÉTÉ" and a decomposed "été" are one name, and so are full-width letters and plain ones, and a
 * name with something invisible in it and the same without.
 */
export const folderKey = (name: string): string =>
  name
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .trim()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC')
