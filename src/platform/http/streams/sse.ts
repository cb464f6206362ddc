// Server-sent events: a response that never ends, one event per frame.
import { randomInt } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { END_MS_MAX, firstOf, type StreamChannel } from './channel.ts'
import type { FrameBatch } from './frames.ts'

/** How long a client waits before it reconnects. Drawn, so that clients of a server that restarts do not come together. */
const RETRY_MS = { min: 1_000, max: 5_000 }
const PING = Buffer.from(': ping\n\n')

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies in front of us would otherwise gather events before they pass them on.
  'x-accel-buffering': 'no',
  connection: 'close',
}

export class SseChannel implements StreamChannel {
  readonly #response: ServerResponse

  /** The head has been written. */
  constructor(response: ServerResponse) {
    this.#response = response
    response.on('error', () => {})
    response.write(`retry: ${randomInt(RETRY_MS.min, RETRY_MS.max)}\n\n`)
  }

  send({ events }: FrameBatch): void {
    if (!this.isClosed) this.#response.write(events)
  }

  /** A comment. Clients do not answer it; whether the peer is there, TCP finds out. */
  ping(): void {
    if (!this.isClosed) this.#response.write(PING)
  }

  get backlogBytes(): number {
    return this.#response.writableLength
  }

  drained(): Promise<void> {
    if (this.isClosed || !this.#response.writableNeedDrain) return Promise.resolve()
    return firstOf([
      [this.#response, 'drain'],
      [this.#response, 'close'],
    ])
  }

  end(): void {
    if (this.isClosed) return
    this.#response.end()
    const timer = setTimeout(() => this.cut(), END_MS_MAX)
    this.#response.once('close', () => clearTimeout(timer))
  }

  cut(): void {
    this.#response.destroy()
  }

  get isClosed(): boolean {
    return this.#response.writableEnded || this.#response.destroyed || this.#response.closed
  }

  onClose(listener: () => void): void {
    if (this.#response.destroyed || this.#response.closed) listener()
    else this.#response.once('close', listener)
  }
}
