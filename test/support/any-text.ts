// Texts of any characters. The library's own arbitrary for them makes a table of a million characters in each process, which
// takes longer than most tests that ask for it.
import * as fc from 'fast-check'

const SURROGATES = { first: 0xd800, count: 0x800 }
const COUNT = 0x11_0000 - SURROGATES.count

/** Half of them ASCII, controls among it. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(COUNT - 1))
  .map(n => String.fromCodePoint(n < SURROGATES.first ? n : n + SURROGATES.count))

export const anyText = ({ maxLength }: { maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ unit: character, ...(maxLength !== undefined && { maxLength }) })
