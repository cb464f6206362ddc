// Whether a value is one that a machine made up: letters and digits in no order.

/** A placeholder repeats itself, or says that it is one. */
export function isRandom(value: string): boolean {
  return value === '' || (isVaried(value) && !PLACEHOLDER.test(value))
}

/** Of enough different characters for its length. */
export const isVaried = (value: string): boolean => distinctIn(value) >= Math.min(DISTINCT_MIN, value.length / 3)

const DISTINCT_MIN = 8
const PLACEHOLDER = /example|placeholder|your[_-]?|xxxx|\*\*\*\*|\.\.\.|^(?:x+|\*+|\.+|0+)$/i

/** How many different characters of ASCII it has; counting ends where there are enough. */
function distinctIn(value: string): number {
  seen.fill(0)
  let distinct = 0
  for (let at = 0; at < value.length && distinct < DISTINCT_MIN; at++) {
    const code = value.charCodeAt(at) & 127
    if (seen[code] === 0) distinct++
    seen[code] = 1
  }
  return distinct
}

const seen = new Uint16Array(128)

const ENTROPY_BITS_MIN = 3.2
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Letters and digits in no order: words, names of files, addresses and ids of rows are less. */
export function isDense(value: string): boolean {
  if (value.length < 20) return false
  seen.fill(0)
  for (let at = 0; at < value.length; at++) seen[value.charCodeAt(at) & 127]!++
  let [digits, letters, bits] = [0, 0, 0]
  for (let code = 0; code < 128; code++) {
    const count = seen[code]!
    if (count === 0) continue
    bits -= (count / value.length) * Math.log2(count / value.length)
    if (code >= 48 && code <= 57) digits += count
    else if (((code | 32) - 97) >>> 0 <= 25) letters += count
  }
  return digits >= 3 && letters >= 5 && bits >= ENTROPY_BITS_MIN && !UUID.test(value)
}
