// Test files that share a process, one after the other: loading the service takes longer than most files do.
import { after, describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { relative } from 'node:path'
import { endFile } from './file-end.ts'
import { usePreparedPrimes } from './primes.ts'

export function runGroup(files: readonly string[]): void {
  usePreparedPrimes()
  for (const file of files) {
    describe(relative(process.cwd(), file), async () => {
      after(endFile)
      await import(pathToFileURL(file).href)
    })
  }
}
