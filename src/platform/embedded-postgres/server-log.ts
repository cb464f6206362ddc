/**
 * The server's own log, a file in the database folder. The server appends to an open file, so it is shortened by
 * copying it away and truncating it in place, which is safe while the server runs.
 */
import { copyFileSync, fstatSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs'

const LOG_BYTES_MAX = 10 * 1024 * 1024
const TAIL_LINES_MAX = 12

export function trimServerLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= LOG_BYTES_MAX) return
  copyFileSync(path, `${path}.old`)
  truncateSync(path)
}

/** A descriptor to hand to the server and then to close, and where its output will begin. */
export function openServerLog(path: string): { descriptor: number; offset: number } {
  const descriptor = openSync(path, 'a', 0o600)
  return { descriptor, offset: fstatSync(descriptor).size }
}

/** What the server wrote since the offset, the last lines of it. */
export function serverLogTail(path: string, offset: number): string {
  const lines = readFileSync(path).subarray(offset).toString('utf8').trimEnd().split('\n')
  return lines.slice(-TAIL_LINES_MAX).join('\n')
}
