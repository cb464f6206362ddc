// Signed heads outside the database: one JSON line per sealing, in DATA_DIR/audit-heads.jsonl. An attacker who rewrites the
// whole database still meets these.
import { createReadStream } from 'node:fs'
import { appendFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Config } from '../../platform/config.ts'
import type { Head } from './queries.ts'

export const headsFile = (config: Config): string => join(config.DATA_DIR, 'audit-heads.jsonl')

export async function appendHead(file: string, head: Head): Promise<void> {
  await appendFile(file, `${JSON.stringify(toLine(head))}\n`, { mode: 0o600, flush: true })
}

export const toLine = (head: Head) => ({
  entry_id: head.entryId,
  hash: head.hash.toString('hex'),
  signed_at: head.signedAt.toISOString(),
  signature: head.signature.toString('base64'),
})

/** 0 where there is no such file. */
export const bytesOfHeads = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  )

/** The heads in the first bytes of the file, streamed. A line that was cut by a crash is passed over. */
export async function* readHeads(file: string, bytes: number): AsyncGenerator<Head> {
  if (bytes === 0) return
  const input = createReadStream(file, { end: bytes - 1 })
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const head = parseLine(line)
    if (head) yield head
  }
}

function parseLine(line: string): Head | null {
  try {
    const { entry_id, hash, signed_at, signature } = JSON.parse(line) as ReturnType<typeof toLine>
    const signedAt = new Date(signed_at)
    if (!Number.isSafeInteger(entry_id) || Number.isNaN(signedAt.getTime())) return null
    return { entryId: entry_id, hash: Buffer.from(hash, 'hex'), signature: Buffer.from(signature, 'base64'), signedAt }
  } catch {
    return null
  }
}
