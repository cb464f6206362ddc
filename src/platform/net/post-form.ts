// One form posted to a service that the operator named, so any address will do. No redirect is followed: a secret is in the
// form. The answer is bounded in time and in bytes, whatever the service sends.
import { Agent, request } from 'undici'

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
  const agent = new Agent({ pipelining: 0, allowH2: false })
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      dispatcher: agent,
      signal,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        'user-agent': 'Sluice',
      },
      body: new URLSearchParams(form).toString(),
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > answerBytesMax) throw new Error(`the answer is longer than ${answerBytesMax} bytes`)
      chunks.push(chunk)
    }
    const after = String(headers['retry-after'] ?? '')
    const retryAfterSeconds = /^\d{1,6}$/.test(after) ? Number(after) : null
    return { status: statusCode, body: Buffer.concat(chunks).toString('utf8'), retryAfterSeconds }
  } catch (error) {
    throw signal.aborted ? new Error(`no answer within ${timeoutMs} ms`, { cause: error }) : error
  } finally {
    void agent.destroy()
  }
}
