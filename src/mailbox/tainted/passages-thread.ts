// Hashes the passages of texts, in a thread: they may be a book.
import type { Work } from '../../platform/threads/thread-start.ts'
import { packPassages } from './quotes.ts'

export const work: Work<string[], Uint8Array> = texts => ({
  output: new Uint8Array(packPassages(texts)),
  bytes: texts.reduce((sum, text) => sum + text.length, 0),
})
