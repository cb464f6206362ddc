// Which bytes a request wants (RFC 9110 §14). What is not understood means all of them, as the standard has it.

export interface Range {
  start: number
  /** The first byte behind it. */
  end: number
}

export interface RangeHeaders {
  range?: string
  'if-range'?: string
}

/** Null: all. One range is served; a request for several gets all. */
export function rangeOf(
  headers: RangeHeaders,
  { size, etag }: { size: number; etag: string },
): Range | 'unsatisfiable' | null {
  const { range, 'if-range': ifRange } = headers
  const [, first, last] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(range?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  // What the client has a part of is something else.
  if (ifRange !== undefined && ifRange !== etag) return null
  if (first === '')
    return Number(last) === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - Number(last)), end: size }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size : Math.min(size, Number(last) + 1) }
}
