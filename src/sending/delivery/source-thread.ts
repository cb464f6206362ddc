// The thread in which large messages get their final form: the signature over their bytes, and the form they have on the
// wire. Each step walks through all of up to 36 MB.
import type { KeyObject } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { signDkim } from '../../mail/dkim/sign.ts'
import { wireForm } from '../../smtp/dot-stuff.ts'
import { prependLines } from '../../mail/mime/headers.ts'
import { COLLECT_BYTES_MIN, collectGarbage } from '../../platform/threads/collect-garbage.ts'

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

const port = parentPort
if (!port) throw new Error('source-thread.ts runs as a worker thread')

async function finish({ source: bytes, signing }: UnfinishedSource): Promise<FinishedSource> {
  const unsigned = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const source = signing ? prependLines(unsigned, await signDkim({ source: unsigned, ...signing })) : unsigned
  const { content, hasBareLineBreak } = wireForm(source)
  return { source, content: content === source ? null : content, hasBareLineBreak }
}

port.on('message', async (unfinished: UnfinishedSource) => {
  const finished = await finish(unfinished)
  const memory = [finished.source, finished.content].flatMap(bytes => (bytes ? [bytes.buffer as ArrayBuffer] : []))
  const { byteLength } = finished.source
  port.postMessage(finished, memory)
  if (byteLength > COLLECT_BYTES_MIN) setImmediate(collectGarbage)
})
port.postMessage('ready')
