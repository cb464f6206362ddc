// Replies that are not made from a schema: text and bytes at once, and chunks that are made while they are read. The reader
// sets the pace of a stream, so one chunk or two are in memory whatever its length.
import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Log } from '../log.ts'
import type { Chunks } from './contract.ts'

/**
 * `types`: those of the contract; the first stands where the handler named none. The reply is not answered: to await
 * it is to wait until it was read.
 */
export async function sendRaw(log: Log, reply: FastifyReply, body: unknown, types: readonly string[]): Promise<void> {
  if (!reply.hasHeader('content-type')) reply.type(types[0]!)
  if (typeof body === 'string' || Buffer.isBuffer(body)) return void reply.send(body)
  const onFailure = (err: unknown): void =>
    log.warn({ err, request_id: reply.request.id }, 'a streamed answer was cut: the rest could not be made')
  void reply.send(await streamOf(body as Chunks, onFailure))
}

/**
 * The first chunk is made before anything is sent: what fails until then is answered as a refusal. What fails later cuts the
 * connection, so that nobody takes a part for the whole. Chunks are made on behalf of the account, like the rest of its
 * requests.
 */
async function streamOf(chunks: Chunks, onFailure: (error: unknown) => void): Promise<Readable> {
  const iterator = chunks[Symbol.asyncIterator]()
  const onSameBehalf = AsyncLocalStorage.snapshot()
  const next = () => onSameBehalf(() => iterator.next())
  const first = await next()
  return Readable.from(rest(), { objectMode: false })

  async function* rest(): AsyncGenerator<string | Buffer> {
    try {
      for (let made = first; !made.done; made = await next()) yield made.value
    } catch (error) {
      onFailure(error)
      throw error
    } finally {
      // The reader may have left in the middle.
      await iterator.return?.()
    }
  }
}
