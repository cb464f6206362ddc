// Primes for the DKIM keys of tests, drawn anew from a few that one run shares: finding three takes a fifth of a second of a
// core, and tests register hundreds of domains. Must be loaded before what makes keys.
import crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** By length in bits, and how many: hundreds of different keys come of them. */
const WANTED = { 683: 12, 682: 8 }
const FILE = 'primes.json'

/** For all test processes of a run that find this folder in their environment. */
export async function preparePrimes(folder: string): Promise<void> {
  const find = promisify<number, { bigint: true }, bigint>(crypto.generatePrime)
  const found = Object.entries(WANTED).map(async ([bits, count]) => {
    const primes = await Promise.all(Array.from({ length: count }, () => find(Number(bits), { bigint: true })))
    return [bits, primes.map(String)]
  })
  await writeFile(join(folder, FILE), JSON.stringify(Object.fromEntries(await Promise.all(found))))
}

let areReal = false

/** For a test of making keys. Answers with what ends it. */
export function useRealPrimes(): () => void {
  areReal = true
  return () => void (areReal = false)
}

/** From now on, Node draws from them where this run has some. */
export function usePreparedPrimes(): void {
  const folder = process.env['SLUICE_TEST_DATA_DIR']
  if (!folder) return
  const prepared = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as Record<string, string[]>
  const real = crypto.generatePrime
  const drawn = (bits: number, options: object, callback: (error: Error | null, prime: bigint) => void) => {
    const primes = prepared[bits]
    if (areReal || !primes) return real(bits, options as { bigint: true }, callback)
    setImmediate(callback, null, BigInt(primes[crypto.randomInt(primes.length)]!))
  }
  crypto.generatePrime = drawn as typeof crypto.generatePrime
  syncBuiltinESMExports()
}
