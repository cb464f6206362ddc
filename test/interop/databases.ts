// Debian's PostgreSQL as the external database, and PgBouncer in transaction mode before it.
import assert from 'node:assert/strict'
import { createTransport } from 'nodemailer'
import { whyMissing } from '../support/programs/debian.ts'
import { startDebianPostgres, startPgBouncer } from '../support/programs/postgresql.ts'
import { check, section, skip } from './checks.ts'
import { aCustomer, startSluice, type Customer, type Sluice } from './site.ts'

/** At once: several times the connections that PgBouncer opens to the server. */
const SENDS = 60

export async function tryDatabases(): Promise<void> {
  const missing = whyMissing('postgresql', ['psql', 'pg_createcluster'])
  if (missing) return skip('PostgreSQL of Debian as DATABASE_URL', missing)
  const postgres = await startDebianPostgres()
  try {
    section('PostgreSQL of Debian as DATABASE_URL', postgres.version)
    await tryDatabase(postgres.createDatabase('plain'), {})
    const bouncerMissing = whyMissing('pgbouncer', ['pgbouncer'])
    if (bouncerMissing) return skip('PgBouncer before it', bouncerMissing)
    const bouncer = await startPgBouncer(postgres.port)
    section('PgBouncer in transaction mode before it', bouncer.version)
    postgres.createDatabase('bounced')
    await tryDatabase(bouncer.urlOf('bounced'), bouncer).finally(() => bouncer.stop())
  } finally {
    await postgres.stop()
  }
}

/** Two processes: one takes mail in from both sides, the other does the work. */
async function tryDatabase(url: string, pooler: { keepsPrepared?: boolean }): Promise<void> {
  const sluices: Sluice[] = []
  const start = async (roles: string): Promise<Sluice> => {
    const sluice = await startSluice({ DATABASE_URL: url, ROLES: roles, SMTP_ROUTES: '*=127.0.0.1:9', DEMO: '0' })
    sluices.push(sluice)
    return sluice
  }
  try {
    await check('two processes that start together bring the schema up to date', async () => {
      await Promise.all([start('api,submission,mx'), start('worker')])
    })
    const front = sluices.find(sluice => sluice.output().includes('Inbound SMTP'))!
    if (pooler.keepsPrepared !== undefined) {
      await check('it says at the start that this is a pooler, and whether statements stay prepared', async () => {
        assert.match(front.output(), /DATABASE_URL leads to a pooler/)
        assert.equal(/keeps no prepared statements/.test(front.output()), !pooler.keepsPrepared)
      })
    }
    const customer = await aCustomer(front, 'database')
    await check(`${SENDS} messages sent at once are accepted, and attempted by the other process`, () =>
      sendMany(customer),
    )
    await check('mail that one process takes in is filed by the other', () => receive(front, customer))
    await check('nothing failed unexpectedly', async () => {
      const lines = sluices.flatMap(sluice => sluice.output().split('\n'))
      assert.deepEqual(
        lines.filter(line => /"level":"(error|fatal)"/.test(line)),
        [],
      )
    })
  } finally {
    for (const sluice of sluices) await sluice.stop()
  }
}

async function sendMany(customer: Customer): Promise<void> {
  const recipients = Array.from({ length: SENDS }, (_, n) => `someone.${n}@elsewhere.test`)
  const ids = await Promise.all(recipients.map(to => customer.send({ to: [to], text: 'Through the database.' })))
  // Nobody listens there, so each attempt is deferred.
  for (const id of ids) await customer.settled(id, 'deferred')
}

async function receive({ mxPort }: Sluice, customer: Customer): Promise<void> {
  const inbox = await customer.anInbox('reader')
  const transport = createTransport({
    host: '127.0.0.1',
    port: mxPort,
    secure: false,
    tls: { rejectUnauthorized: false },
  })
  const mail = { from: 'someone@elsewhere.test', to: inbox.address, subject: 'In', text: 'Hello there' }
  await transport.sendMail(mail).finally(() => transport.close())
  const message = await customer.arrival(inbox.id, 'In')
  assert.equal(message.text.trim(), 'Hello there')
}
