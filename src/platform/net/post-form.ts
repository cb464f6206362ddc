// One form posted to a service that the operator named, so any address will do. No redirect is followed: a secret is in the
// form. The answer is bounded in time and in bytes, whatever the service sends.
import { OperatorHttp, PostFailure } from './operator-http.ts'

interface FormPost {
  form: Record<string, string>
  /** Connecting, headers and body together. */
  timeoutMs: number
  answerBytesMax: number
}

export interface FormAnswer {
  status: number
  body: string
  /** Of the header `Retry-After`, where it is a number. */
  retryAfterSeconds: number | null
}

/** Rejects where no whole answer came. */
export async function postForm(url: string, { form, timeoutMs, answerBytesMax }: FormPost): Promise<FormAnswer> {
  // Of its own: such requests are seldom, and a connection that is kept would have to be closed by somebody.
  const http = new OperatorHttp({ connections: 1, answerBytesMax })
  const signal = AbortSignal.timeout(timeoutMs)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    'user-agent': 'Sluice',
  }
  try {
    const answer = await http.post({ url, headers, body: new URLSearchParams(form).toString(), signal })
    const retryAfterSeconds = /^\d{1,6}$/.test(answer.retryAfter ?? '') ? Number(answer.retryAfter) : null
    return { status: answer.status, body: answer.text, retryAfterSeconds }
  } catch (error) {
    if (signal.aborted) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error })
    const isTooLarge = error instanceof PostFailure && error.reason === 'too_large'
    throw isTooLarge ? new Error(`the answer is longer than ${answerBytesMax} bytes`, { cause: error }) : error
  } finally {
    void http.close()
  }
}
