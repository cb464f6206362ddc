// What a provider did not do, with its words, or not in time, and what that means for the next attempt.
import { inTime } from '../../platform/in-time.ts'

export type FaultKind = 'refused' | 'throttled' | 'failed'

/** What the provider did not do, with its words. */
export class ProviderFault extends Error {
  readonly kind: FaultKind

  constructor(kind: FaultKind, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ProviderFault'
    this.kind = kind
  }
}

interface ImapError extends Error {
  code?: string
  authenticationFailed?: boolean
  responseStatus?: string
  responseText?: string
  serverResponseCode?: string
  response?: unknown
}

const THROTTLED = new Set(['THROTTLED', 'OVERQUOTA', 'LIMIT', 'INUSE', 'UNAVAILABLE'])
const TEXT_CHARS_MAX = 300

export function faultOf(cause: unknown): ProviderFault {
  const { code, authenticationFailed, responseText, serverResponseCode, message } = cause as ImapError
  const words = (responseText ?? message ?? 'unknown')
    .slice(0, TEXT_CHARS_MAX)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .toWellFormed()
  const isThrottled =
    code === 'ETHROTTLE' ||
    THROTTLED.has(serverResponseCode ?? '') ||
    /\b(THROTTLED|OVERQUOTA|too many simultaneous|bandwidth limit)/i.test(words)
  if (isThrottled) return new ProviderFault('throttled', `The provider asks for less: ${words}`, cause)
  if (authenticationFailed) return new ProviderFault('refused', `The provider refuses the sign-in: ${words}`, cause)
  return new ProviderFault('failed', `The provider failed: ${words}`, cause)
}

/** It understood and refuses, for a reason that will not pass by itself: a name it does not like, a right that is missing. */
export const isRefusal = (fault: unknown): boolean =>
  fault instanceof ProviderFault &&
  fault.kind === 'failed' &&
  ['NO', 'BAD'].includes((fault.cause as ImapError | undefined)?.responseStatus ?? '')

export const TOO_SLOW = 'The provider answers too slowly.'

export const within = <T>(milliseconds: number, act: Promise<T>): Promise<T> =>
  inTime(milliseconds, act, () => {
    throw new ProviderFault('failed', TOO_SLOW)
  })
