// What a test file leaves behind is taken down after its last test, the newest first. Several files may share a process.
import { after } from 'node:test'

const closers: (() => unknown)[] = []

export const atFileEnd = (close: () => unknown): void => void closers.push(close)

export async function endFile(): Promise<void> {
  for (const close of closers.splice(0).toReversed()) await close()
}

/** Makes it as a test of the file first asks for it, and once. */
export function onePerFile<Options extends unknown[], T>(make: (...options: Options) => T): (...options: Options) => T {
  let made: { it: T } | null = null
  return (...options) => {
    if (!made) {
      made = { it: make(...options) }
      atFileEnd(() => (made = null))
    }
    return made.it
  }
}

// For a file that has its process for itself.
after(endFile)
