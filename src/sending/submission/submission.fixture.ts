// A submission port over the app in a box, with one known login per account.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { TestClient } from '../../smtp/server/client.fixture.ts'
import type { SmtpLimits } from '../../smtp/server/door.ts'
import { sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { refuse } from '../../platform/refusal.ts'
import { loadTlsIdentity } from '../../platform/tls.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { Gate } from '../messages/gate.ts'
import type { SmtpPrincipal } from '../../identity/smtp-credentials/authenticate.ts'
import { SubmissionServer, type LoginKeeper, type SubmissionOptions } from './server.ts'

export const PASSWORD = 'canary-smtp-password'

export type Submissions = Awaited<ReturnType<typeof aSubmissionPort>>

export interface StoredMessage {
  source: string
  needs_smtputf8: boolean
  credential_id: string
  sender: string
  subject: string | null
  rfc_message_id: string
  tags: string[]
  metadata: Record<string, string>
}

/** Accepts the one password for any name, and refuses like the real one. */
export function keeper(login: SmtpPrincipal): LoginKeeper {
  const authenticate: LoginKeeper['authenticate'] = async ({ username, password }) => {
    if (password !== PASSWORD) throw refuse('unauthorized', 'The username or password is wrong.')
    return { ...login, username }
  }
  return { authenticate }
}

interface Choices extends Partial<Pick<SubmissionOptions, 'gate' | 'authenticator' | 'trustsClearText'>> {
  sandbox?: boolean
  limits?: Partial<SmtpLimits>
}

export async function aSubmissionPort(t: TestContext, choices: Choices = {}) {
  const { sandbox = true, limits, ...rest } = choices
  const account = await anAccount({ sandbox })
  const { world } = account.box.app
  const credentialId = newId(world.clock.now())
  const login = { credentialId, username: 'mailer', accountId: account.id, tenantId: account.tenant.id }
  const server = new SubmissionServer({
    world,
    gate: new Gate(world),
    authenticator: keeper(login),
    tls: await loadTlsIdentity(world.config, world.clock),
    limits: { closeMs: 50, sweepMs: 10, ...limits },
    ...rest,
  })
  const port = await server.listen()
  t.after(() => server.close())
  return {
    account,
    login,
    port,
    server,
    /** Connected, greeted and logged in. */
    client: async () => {
      const client = await TestClient.open(t, port)
      await client.hello({ username: login.username, password: PASSWORD })
      return client
    },
    stored: async (id: string): Promise<StoredMessage> => {
      const row = await world.db.one<StoredMessage & { bytes: Buffer }>(sql`
        select b.source as bytes, m.needs_smtputf8, m.credential_id, m.sender, m.subject, m.rfc_message_id, m.tags,
          m.metadata
        from messages m join message_bodies b on b.message_id = m.id where m.id = ${id}`)
      return { ...row, source: row.bytes.toString('latin1') }
    },
    count: async () => {
      const { n } = await world.db.one<{ n: number }>(
        sql`select count(*) as n from messages where account_id = ${account.id}`,
      )
      return n
    },
  }
}

/** A message of these lines, the header first. */
export const message = (...lines: string[]): string => lines.map(line => `${line}\r\n`).join('')

export const PLAIN = message('From: Acme <hello@acme.example>', 'To: you@example.com', 'Subject: Hi', '', 'Hello')

export function idIn(reply: string): string {
  const id = /^250 2\.0\.0 .*?([0-9a-f-]{36})$/.exec(reply)?.[1]
  assert.ok(id, reply)
  return id
}
