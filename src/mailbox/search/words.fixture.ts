// Words of messages as a person reads them, for tests: `invoice:1A,47C`.
import { bufferOf } from './vector.ts'

export function writtenOut(vector: Uint8Array): string[] {
  const bytes = bufferOf(vector)
  const words: string[] = []
  for (let at = 4; at < bytes.length;) {
    const end = bytes.indexOf(0, at)
    const count = bytes.readUInt16BE(end + 1)
    const entries = Array.from({ length: count }, (_, n) => bytes.readUInt16BE(end + 3 + 2 * n))
    const positions = entries.map(entry => `${entry & 0x3fff}${['', 'C', 'B', 'A'][entry >> 14]}`)
    words.push([bytes.toString('utf8', at, end), ...(count > 0 ? [positions.join(',')] : [])].join(':'))
    at = end + 3 + 2 * count
  }
  return words
}
