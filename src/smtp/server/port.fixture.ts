// An SMTP port whose door only notes what it was given.

import type { TestContext } from 'node:test'
import { generate } from 'selfsigned'
import type { ReceivedMail, SmtpDoor, SmtpLimits } from './door.ts'
import { SmtpListener } from './listener.ts'

const { cert, private: key } = await generate([{ name: 'commonName', value: 'mx.test' }], { algorithm: 'sha256' })

type TestDoor = SmtpDoor<string, string>

export async function openPort(t: TestContext, door: Partial<TestDoor> = {}, limits: Partial<SmtpLimits> = {}) {
  const received: (ReceivedMail<string, string> & { source: Buffer })[] = []
  const faults: unknown[] = []
  const listener = new SmtpListener<string, string>(
    {
      host: 'mx.test',
      sizeMax: 1_000_000,
      recipientsMax: 3,
      tls: { cert, key },
      authenticate: null,
      trustsClearText: () => true,
      admit: path => ({ kind: 'admitted', recipient: path }),
      receive: async mail => {
        received.push({ ...mail, source: mail.takeSource() })
        return '250 2.0.0 Ok'
      },
      onFault: error => faults.push(error),
      ...door,
    },
    { sweepMs: 10, closeMs: 50, ...limits },
  )
  const port = await listener.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => listener.close())
  return { port, listener, received, faults }
}

export const takesPassword = { authenticate: async (attempt: { password: string }) => answerTo(attempt.password) }
const answerTo = (password: string) => (password === 'right' ? { login: 'user' } : '535 5.7.8 No')
export const LOGIN = { username: 'user', password: 'right' }
