// What a server said it can do in its answer to EHLO (RFC 5321 §4.1.1.1).

export interface Extensions {
  pipelining: boolean
  startTls: boolean
  eightBitMime: boolean
  smtputf8: boolean
  /** SIZE was offered, so MAIL may carry it (RFC 1870). */
  size: boolean
  /** The largest message the server takes; null when it names none. */
  sizeMax: number | null
  /** Names of AUTH mechanisms in upper case. */
  auth: readonly string[]
}

export const NO_EXTENSIONS: Extensions = {
  pipelining: false,
  startTls: false,
  eightBitMime: false,
  smtputf8: false,
  size: false,
  sizeMax: null,
  auth: [],
}

export function readExtensions(ehloText: string): Extensions {
  const found = new Map<string, string[]>()
  // The first line is the server's name.
  for (const line of ehloText.split('\n').slice(1)) {
    // `AUTH=PLAIN` is how servers from before RFC 2554 wrote it; some still say both.
    const [keyword, ...parameters] = line.slice(4).trim().toUpperCase().split(/[ =]+/)
    if (keyword) found.set(keyword, [...(found.get(keyword) ?? []), ...parameters])
  }
  const size = found.get('SIZE')
  const sizeMax = /^\d{1,15}$/.test(size?.[0] ?? '') ? Number(size![0]) : 0
  return {
    pipelining: found.has('PIPELINING'),
    startTls: found.has('STARTTLS'),
    eightBitMime: found.has('8BITMIME'),
    smtputf8: found.has('SMTPUTF8'),
    size: size !== undefined,
    // Zero means "no fixed limit" (RFC 1870 §4).
    sizeMax: sizeMax === 0 ? null : sizeMax,
    auth: found.get('AUTH') ?? [],
  }
}
