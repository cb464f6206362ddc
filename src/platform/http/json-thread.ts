// The thread in which large bodies are parsed and checked. The contract's schema comes with each body, as text, and is
// compiled once.
import { parentPort } from 'node:worker_threads'
import { Refusal, type RefusalCode } from '../refusal.ts'
import { COLLECT_BYTES_MIN, collectGarbage } from '../threads/collect-garbage.ts'
import { bodyCheck, type BodyCheck, type CheckedBody } from './check-body.ts'

export interface LargeBody {
  bytes: Uint8Array
  schema: string
  textRefusal: RefusalCode | undefined
}

export type LargeBodyAnswer = { checked: CheckedBody } | { refusal: { code: RefusalCode; message: string } }

const port = parentPort
if (!port) throw new Error('json-thread.ts runs as a worker thread')

const checks = new Map<string, BodyCheck>()

function answer({ bytes, schema, textRefusal }: LargeBody): LargeBodyAnswer {
  const key = `${textRefusal} ${schema}`
  const check = checks.get(key) ?? bodyCheck(JSON.parse(schema), textRefusal)
  checks.set(key, check)
  try {
    return { checked: check(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}

port.on('message', (body: LargeBody) => {
  const { byteLength } = body.bytes
  port.postMessage(answer(body))
  if (byteLength > COLLECT_BYTES_MIN) setImmediate(collectGarbage)
})
port.postMessage('ready')
