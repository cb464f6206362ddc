// A result goes into the context of a model, which is paid for by the word: it has a bound, and says how to go on.
import type { ToolAnswer } from './tool.ts'

const RESULT_BYTES_MAX = 128 * 1024
/** Around the text and the data of an answer. */
const ENVELOPE_BYTES = 1_024

const fits = ({ text, structured }: ToolAnswer): boolean =>
  Buffer.byteLength(JSON.stringify(text)) + Buffer.byteLength(JSON.stringify(structured)) + ENVELOPE_BYTES <=
  RESULT_BYTES_MAX

/** The answer to as much as fits: asked for less and less until it does. At 1 it must. */
export async function fitted(wanted: number, answer: (amount: number) => Promise<ToolAnswer>): Promise<ToolAnswer> {
  for (let amount = wanted; ; amount = Math.max(1, Math.floor(amount / 2))) {
    const given = await answer(amount)
    if (amount === 1 || fits(given)) return given
  }
}
