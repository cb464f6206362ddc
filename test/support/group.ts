// Test files that share a process, one after the other: loading the service takes longer than most files do.
import { after, describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { relative } from 'node:path'
import { endFile } from './file-end.ts'
import { usePreparedPrimes } from './primes.ts'

/** Settled when all of them have declared their tests. */
export async function runGroup(files: readonly string[]): Promise<void> {
  usePreparedPrimes()
  const loaded = files.map(async file => {
    const module = Promise.withResolvers<void>()
    describe(relative(process.cwd(), file), async () => {
      after(endFile)
      await import(pathToFileURL(file).href).finally(module.resolve)
    })
    await module.promise
  })
  await Promise.all(loaded)
}
