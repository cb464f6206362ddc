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

interface Reset {
  /** Where the stream goes on, and so where its reader resumes next time. */
  position: number
  /** What is kept begins here. */
  oldestId: number
  inboxId: string
  now: Date
}

/** Told to one that resumes from where events are gone. */
export function resetFrame({ position, oldestId, inboxId, now }: Reset): Frame {
  const frame: StreamFrame = {
    id: position,
    type: 'stream.reset',
    inbox_id: inboxId,
    created_at: now.toISOString(),
    data: { oldest_id: oldestId },
  }
  return { id: frame.id, type: frame.type, json: JSON.stringify(frame) }
}
