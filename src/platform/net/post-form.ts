// One form posted to a service that the operator named, so any address will do. No redirect is followed: a secret is in the
// form. The answer is bounded in time and in bytes, whatever the service sends.
import { OperatorHttp, PostFailure, type Answer } from './operator-http.ts'

interface FormPost {
  form: Record<string, string>
  /** Connecting, headers and body together. */
  timeoutMs: number
  answerBytesMax: number
}

/** Rejects where no whole answer came. */
export async function postForm(url: string, { form, timeoutMs, answerBytesMax }: FormPost): Promise<Answer> {
  // Of its own: such requests are seldom, and a connection that is kept would have to be closed by somebody.
  const http = new OperatorHttp({ connections: 1, answerBytesMax })
  const signal = AbortSignal.timeout(timeoutMs)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    'user-agent': 'Sluice',
  }
  try {
    return await http.post({ url, headers, body: new URLSearchParams(form).toString(), signal })
  } catch (error) {
    if (signal.aborted) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error })
    const isTooLarge = error instanceof PostFailure && error.reason === 'too_large'
    throw isTooLarge ? new Error(`the answer is longer than ${answerBytesMax} bytes`, { cause: error }) : error
  } finally {
    void http.close()
  }
}
