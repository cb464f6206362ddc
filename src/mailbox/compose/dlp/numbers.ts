// Numbers that give something away: of payment cards, of US social security, of bank accounts. One pass over the text finds
// the rows of digits, and each is read by all detectors.
import { nextDigit, type Codes } from './characters.ts'
import { Cards } from './cards.ts'
import { ibanAround } from './iban.ts'
import type { Match } from './match.ts'
import { Row } from './rows.ts'
import { Socials } from './socials.ts'

/** Rows with fewer digits hold neither a card nor a social security number. */
const DIGITS_MIN = 9

export function* numbersIn(given: Codes): Generator<Match> {
  const { codes } = given
  const row = new Row()
  const [cards, socials] = [new Cards(given, row), new Socials(given, row)]
  let endOfIban = 0
  for (let start = nextDigit(codes, 0); start < codes.length; start = nextDigit(codes, row.end)) {
    row.read(given, start)
    if (row.digits >= DIGITS_MIN) {
      // Handing on a list costs more than reading most rows, and hardly any row has a match.
      const [ofCards, ofSocials] = [cards.inRow(), socials.inRow()]
      if (ofCards.length > 0) yield* ofCards
      if (ofSocials.length > 0) yield* ofSocials
    }
    // Its two letters stand before the first digit of a row: within one there are none.
    const iban = start < endOfIban ? null : ibanAround(given, start)
    if (!iban) continue
    yield iban
    endOfIban = iban.end
  }
}
