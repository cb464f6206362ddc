// One open stream as its feature sees it, whichever protocol carries it: frames go out, and nothing comes in.
import type { EventEmitter } from 'node:events'
import type { FrameBatch } from './frames.ts'

/** Why we end a stream. */
export type StreamEnd = 'stopping' | 'forbidden' | 'gone' | 'failed'

export interface StreamChannel {
  /** Nothing happens once it is closed. */
  send(batch: FrameBatch): void
  /** Keeps the line open and finds dead peers: one that did not answer the last ping is cut, where the protocol has answers. */
  ping(): void
  /** Bytes that the peer has not taken yet. */
  readonly backlogBytes: number
  /** When the peer has taken everything, or the stream is closed. */
  drained(): Promise<void>
  /** Tells the peer, and waits for it no longer than a moment. */
  end(why: StreamEnd): void
  /** At once, with what was not sent. */
  cut(): void
  readonly isClosed: boolean
  /** Called once; at once when it is closed already. */
  onClose(listener: () => void): void
}

/** A peer that does not take its last bytes has this long. */
export const END_MS_MAX = 1_000

/** When one of the events has come. */
export const firstOf = (events: readonly [EventEmitter, string][]): Promise<void> =>
  new Promise(resolve => {
    const done = (): void => {
      for (const [emitter, name] of events) emitter.off(name, done)
      resolve()
    }
    for (const [emitter, name] of events) emitter.on(name, done)
  })
