// Frames of a stream as they go over the line, made once for all streams that carry them.

export interface Frame {
  id: number
  type: string
  /** The whole frame as JSON: one line. */
  json: string
}

export class FrameBatch {
  readonly frames: readonly Frame[]
  #bytes: number | null = null
  #events: Buffer | null = null
  #texts: Buffer[] | null = null

  /** At least one, in ascending order. */
  constructor(frames: readonly Frame[]) {
    this.frames = frames
  }

  get firstId(): number {
    return this.frames[0]!.id
  }

  get lastId(): number {
    return this.frames.at(-1)!.id
  }

  /** About as many as go over the line. */
  get bytes(): number {
    this.#bytes ??= this.frames.reduce((sum, { json }) => sum + json.length, 0)
    return this.#bytes
  }

  /** For server-sent events. */
  get events(): Buffer {
    this.#events ??= Buffer.from(
      this.frames.map(({ id, type, json }) => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`).join(''),
    )
    return this.#events
  }

  /** For WebSocket: one message each. */
  get texts(): readonly Buffer[] {
    this.#texts ??= this.frames.map(({ json }) => Buffer.from(json))
    return this.#texts
  }
}
