// Parses received messages, in a thread. It answers with the message, with what it says as a report, or why it was refused;
// the bytes of attachments are given away, not copied.
import { parseMail } from '../../mail/mime/parse.ts'
import type { ParsedMail, Refused } from '../../mail/mime/parsed-mail.ts'
import { readAsReport, type ReadReport } from '../../mail/reports/read-report.ts'
import type { Work } from '../../platform/threads/thread-start.ts'

export type MimeOrder = { source: Uint8Array<ArrayBuffer>; wanted: 'mail' | 'report' }
export type MimeAnswer = ParsedMail | ReadReport | Refused

export const work: Work<MimeOrder, MimeAnswer> = async ({ source, wanted }) => {
  const bytes = source.byteLength
  const result = await parseMail(source)
  if (result.kind !== 'mail') return { output: result, bytes }
  if (wanted === 'report') return { output: readAsReport(result), bytes }
  const contents = result.attachments.map(({ content }) => content.buffer as ArrayBuffer)
  return { output: result, transfer: [...new Set(contents)], bytes }
}

/**
 * postal-mime joins the lines of a part by way of a Blob. Node's Blob makes a reader for each line: two megabytes of
 * short lines took two seconds of the five a message has. No other work of the threads uses one, so here a Blob only joins.
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
