// Gives large messages their final form, in a thread: the signature over their bytes, and the form they have on the
// wire. Each step reads all of up to 36 MB.
import type { KeyObject } from 'node:crypto'
import { signDkim } from '../../mail/dkim/sign.ts'
import { wireForm } from '../../smtp/dot-stuff.ts'
import { prependLines } from '../../mail/mime/headers.ts'
import { asBuffer } from '../../platform/threads/thread-pool.ts'
import type { Work } from '../../platform/threads/thread-start.ts'

export interface UnfinishedSource {
  source: Uint8Array
  /** Null where the message is not signed. */
  signing: { domain: string; selector: string; key: KeyObject; now: Date } | null
}

export interface FinishedSource {
  source: Uint8Array
  /** Null when it is the source as it is. */
  content: Uint8Array | null
  hasBareLineBreak: boolean
}

async function finish({ source: bytes, signing }: UnfinishedSource): Promise<FinishedSource> {
  const unsigned = asBuffer(bytes)
  const source = signing ? prependLines(unsigned, await signDkim({ source: unsigned, ...signing })) : unsigned
  const { content, hasBareLineBreak } = wireForm(source)
  return { source, content: content === source ? null : content, hasBareLineBreak }
}

export const work: Work<UnfinishedSource, FinishedSource> = async unfinished => {
  const output = await finish(unfinished)
  const transfer = [output.source, output.content].flatMap(bytes => (bytes ? [bytes.buffer as ArrayBuffer] : []))
  return { output, transfer, bytes: output.source.byteLength }
}
