// Every failure in the one shape of the spec: { error: { code, message } }.
import { refuse, Refusal } from '../refusal.ts'

/** `isOurs` where nobody outside can be blamed: logged with its stack. */
export function errorReply(error: unknown) {
  const refusal = error instanceof Refusal ? error : refusalOfFramework(error)
  if (!refusal) {
    const body = { error: { code: 'internal', message: 'Something went wrong on our side. It has been logged.' } }
    return { status: 500, headers: {}, body, isOurs: true }
  }
  const headers: Record<string, string> = { ...refusal.headers }
  if (refusal.retryAfterSeconds !== null)
    headers['retry-after'] = String(Math.max(1, Math.ceil(refusal.retryAfterSeconds)))
  if (refusal.status === 401) headers['www-authenticate'] = 'Bearer'
  return {
    status: refusal.status,
    headers,
    body: { error: { code: refusal.code, message: refusal.message } },
    isOurs: false,
  }
}

/** Fastify raises these before a handler runs; their own messages are not ours to show. */
function refusalOfFramework(error: unknown): Refusal | null {
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse('payload_too_large', 'The body is too large.')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse('invalid_request', 'The body does not have the length that Content-Length says.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refuse('invalid_request', 'Send the body as JSON, with the header Content-Type: application/json.')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return refuse('not_found', 'No such path.')
    default:
      if (statusCode === 414) return refuse('not_found', 'No such path.')
      return statusCode && statusCode >= 400 && statusCode < 500
        ? refuse('invalid_request', 'The request could not be read.')
        : null
  }
}
