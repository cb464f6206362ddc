// A variable of the configuration: what it means, what it is without being set, and how its text is read.

export type Read<T> = (text: string) => T

export interface Variable<T> {
  meaning: string
  /** Shown in help and README; the value itself comes from `absent`. */
  shown: string
  absent: T
  read: Read<T>
}

/** What the reader of a variable throws: one line that says what would be right. */
export class Mistake extends Error {}

export const variable = <T, Absent extends T | null>(
  shown: string,
  meaning: string,
  read: Read<T>,
  absent: Absent,
): Variable<T | Absent> => ({
  shown,
  meaning,
  read,
  absent,
})

export function nonEmpty(text: string): string {
  if (text.trim() === '') throw new Mistake('must not be blank')
  return text
}

export function secret(lengthMin: number): Read<string> {
  return text => {
    // The value itself is never repeated: it would end in a log.
    if (text.length < lengthMin) throw new Mistake(`must have at least ${lengthMin} characters, it has ${text.length}`)
    return text
  }
}

export function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw new Mistake(`must be an http or https URL, not "${text}"`)
  return text.replace(/\/+$/, '')
}

/** Secrets go there: in clear they stay on the machine. */
export function secureUrl(text: string): string {
  const url = new URL(httpUrl(text))
  if (url.protocol === 'http:' && !isThisMachine(url.hostname))
    throw new Mistake('must begin with https:// unless it is on this machine')
  if (url.username || url.hash) throw new Mistake('must have no user name and no fragment')
  return text
}

export const isThisMachine = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)
