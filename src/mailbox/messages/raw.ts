// The source of a message as it was received or sent, read from the database in slices while the client takes them: mail of
// 40 MB costs no more memory than mail of one.
import { Readable } from 'node:stream'
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import { findSource, findSourceSlice, requireMessage } from './queries.ts'

const SLICE_BYTES = 512 * 1024

export async function readRaw(db: Db, reach: Reach, id: string) {
  const { source_id: sourceId } = await requireMessage(db, reach, id)
  const source = sourceId === null ? null : await findSource(db, sourceId)
  if (sourceId === null || !source) throw notFound('source')
  const head = Buffer.from(source.authentication_results)
  const headers = {
    'content-length': String(head.length + source.bytes),
    'content-disposition': `attachment; filename="${id}.eml"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  }
  if (source.bytes <= SLICE_BYTES) {
    const found = await findSourceSlice(db, { sourceId, offset: 0, bytes: source.bytes })
    if (!found) throw notFound('source')
    return { body: Buffer.concat([head, found.slice]), headers }
  }
  return { body: Readable.from(slices(db, { sourceId, head, bytes: source.bytes }), { highWaterMark: 1 }), headers }
}

async function* slices(db: Db, { sourceId, head, bytes }: { sourceId: string; head: Buffer; bytes: number }) {
  yield head
  for (let offset = 0; offset < bytes; offset += SLICE_BYTES) {
    const found = await findSourceSlice(db, { sourceId, offset, bytes: SLICE_BYTES })
    // Deleted while it was read. The length was announced, so that the client sees that the rest is missing.
    if (!found) throw new Error('the source was removed while it was read')
    yield found.slice
  }
}
