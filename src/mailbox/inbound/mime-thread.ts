// The thread in which received messages are parsed. It takes one source at a time and answers with the message, with what
// it says as a report, or why it was refused; the bytes of attachments are given away, not copied.

import { parentPort } from 'node:worker_threads'
import { parseMail } from '../../mail/mime/parse.ts'
import type { ParsedMail, Refused } from '../../mail/mime/parsed-mail.ts'
import { readAsReport, type ReadReport } from '../../mail/reports/read-report.ts'

export type MimeOrder = { source: Uint8Array<ArrayBuffer>; wanted: 'mail' | 'report' }
export type MimeAnswer = ParsedMail | ReadReport | Refused

const port = parentPort
if (!port) throw new Error('mime-thread.ts runs as a worker thread')

port.on('message', async ({ source, wanted }: MimeOrder) => {
  const result = await parseMail(source)
  if (result.kind === 'mail' && wanted === 'report') return port.postMessage(readAsReport(result))
  const contents = result.kind === 'mail' ? result.attachments.map(({ content }) => content.buffer as ArrayBuffer) : []
  port.postMessage(result, [...new Set(contents)])
})

/**
 * postal-mime joins the lines of a part by way of a Blob. Node's Blob makes a reader for each line: two megabytes of
 * short lines took two seconds of the five a message has. In this thread, where nothing else runs, a Blob only joins.
 */
class JoinedBytes {
  readonly #bytes: Uint8Array<ArrayBuffer>

  constructor(parts: readonly (Uint8Array | ArrayBuffer | string)[] = []) {
    const chunks = parts.map(part => (part === '\n' ? LINE_FEED : asBytes(part)))
    this.#bytes = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, 0))
    let offset = 0
    for (const chunk of chunks) {
      this.#bytes.set(chunk, offset)
      offset += chunk.length
    }
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(this.#bytes.buffer)
  }
}

const LINE_FEED = Uint8Array.of(10)

function asBytes(part: Uint8Array | ArrayBuffer | string): Uint8Array {
  if (typeof part === 'string') return new TextEncoder().encode(part)
  return part instanceof Uint8Array ? part : new Uint8Array(part)
}

Object.assign(globalThis, { Blob: JoinedBytes })
port.postMessage('ready')
