// Mail from this installation to its own inboxes: stored as what comes in over the MX port is, without a network hop, and
// inspected in the same way.
import { parseReply } from '../../mail/reports/smtp-reply.ts'
import { Batcher } from '../../platform/batcher.ts'
import { SharedCache } from '../../platform/shared-cache.ts'
import type { World } from '../../platform/world.ts'
import type { LocalInboxes, LocalMail } from '../../sending/delivery/local.ts'
import type { Outcome } from '../../smtp/client/outcome.ts'
import type { Arrivals } from './arrivals.ts'
import { listInboundDomains } from './queries.ts'
import { Recipients, refusalFor, refusalOf, type Recognised } from './recognise.ts'
import { withTrace } from './trace.ts'

/** A domain that begins or ceases to take mail here is known after this time; until then its MX record decides. */
const DOMAIN_TTL_MS = 5_000
const DOMAINS_MAX = 20_000

export function localInboxes(world: World, arrivals: Arrivals): LocalInboxes {
  const domains = new Batcher<string, boolean>({
    run: async names => {
      const found = new Set((await listInboundDomains(world.db, names)).map(({ name }) => name))
      return names.map(name => found.has(name))
    },
    itemsMax: 500,
    slots: 1,
  })
  const known = new SharedCache<boolean>({
    clock: world.clock,
    entriesMax: DOMAINS_MAX,
    load: async name => ({ value: await domains.submit(name), ttlMs: DOMAIN_TTL_MS }),
  })
  const recipients = new Recipients(world)
  return {
    takes: domain => known.get(domain),
    deliver: async mail => {
      const taken = answerOf(TAKEN, world.config.MX_HOST)
      const deliveries = mail.deliveries.filter(each => !each.has_arrived)
      const found = await Promise.all(deliveries.map(({ recipient }) => recipients.recognise(recipient)))
      const answers = await deliver(world, arrivals, { ...mail, deliveries }, found)
      // Whatever became of the inbox since: it has the mail.
      return mail.deliveries.map(each => (each.has_arrived ? taken : answers.shift()!))
    },
  }
}

async function deliver(world: World, arrivals: Arrivals, mail: LocalMail, found: readonly (Recognised | null)[]) {
  const { MX_HOST: host } = world.config
  const answers = found.map(each =>
    each?.kind === 'inbox' ? answerOf(refusalFor(each) ?? refusalOf(mail.source) ?? TAKEN, host) : null,
  )
  const inboxes = found.flatMap((each, at) =>
    each?.kind === 'inbox' && answers[at]?.kind === 'delivered' ? [{ ...each, delivery: mail.deliveries[at]! }] : [],
  )
  if (inboxes.length > 0) {
    const submittedId = mail.deliveries[0]!.message_id
    const client = { id: submittedId, ip: '127.0.0.1', helo: host, isSecure: true }
    const { mailFrom: from, smtputf8 } = mail
    await arrivals.store({
      ...withTrace(mail.source, { client, from, smtputf8, host, now: world.clock.now() }),
      mailFrom: from,
      clientIp: client.ip,
      helo: host,
      submittedId,
      inboxes,
    })
  }
  return answers
}

const TAKEN = '250 2.0.0 Filed here'

function answerOf(line: string, host: string): Outcome {
  const reply = parseReply(line)
  return reply.code === 250
    ? { kind: 'delivered', reply, host, tls: true }
    : { kind: 'refused', reply, phase: 'rcpt', host }
}
