// SMTP submission: the port through which customers' programs submit mail.
import { SmtpAuthenticator } from '../../identity/smtp-credentials/authenticate.ts'
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from '../messages/gate.ts'
import { SubmissionServer } from './server.ts'

export function feature(world: World, { gate }: { gate: Gate }): Feature {
  const authenticator = new SmtpAuthenticator(world)
  let server: SubmissionServer | null = null
  return {
    smtp: {
      role: 'submission',
      listen: tls => {
        server = new SubmissionServer({ world, gate, authenticator, tls })
        return server.listen()
      },
      close: async () => {
        await server?.close()
        await authenticator.flush()
      },
    },
  }
}
