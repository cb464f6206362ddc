// Events as the frames that streams carry.
import type { Frame } from '../../platform/http/streams/frames.ts'
import type { StreamFrame } from './contract.ts'
import type { StoredEvent } from './queries.ts'

/** The data goes out as the journal has it, without being parsed. */
export function frameOf({ id, type, inbox_id, created_at, data }: StoredEvent): Frame {
  const created = created_at.toISOString()
  const json = `{"id":${id},"type":"${type}","inbox_id":"${inbox_id}","created_at":"${created}","data":${data}}`
  return { id, type, json }
}

/** Told to one that resumes from where events are gone: what is kept begins at this id, and the stream goes on from now. */
export function resetFrame({ oldestId, inboxId, now }: { oldestId: number; inboxId: string; now: Date }): Frame {
  const frame: StreamFrame = {
    id: oldestId,
    type: 'stream.reset',
    inbox_id: inboxId,
    created_at: now.toISOString(),
    data: { oldest_id: oldestId },
  }
  return { id: frame.id, type: frame.type, json: JSON.stringify(frame) }
}
