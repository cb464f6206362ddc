// What lives beside the World and is used by several features; and what a lower floor is lent by a higher one.
import { contactPersons } from './mailbox/approvals/contact-person.ts'
import { approvalLinks } from './mailbox/approvals/link.ts'
import { backlogs as statusBacklogs } from './mailbox/compose/statuses/follow-deliveries.ts'
import { composingWith } from './mailbox/compose/composing.ts'
import { providerRelays } from './mailbox/connections/relay.ts'
import { providersOf } from './mailbox/connections/providers.ts'
import { AccessTokens } from './mailbox/connections/tokens.ts'
import { scheduleComposed } from './mailbox/drafts/schedule-composed.ts'
import { Arrivals } from './mailbox/inbound/arrivals.ts'
import { addFindings } from './mailbox/inbound/late-findings.ts'
import { localInboxes } from './mailbox/inbound/local-delivery.ts'
import { attachInboxes } from './mailbox/inboxes/create.ts'
import { Postmaster } from './mailbox/postmaster/take.ts'
import { sentSources } from './mailbox/sources/sent.ts'
import { emailContacts } from './observers/alerts/email-contact.ts'
import { backlogs as pushBacklogs } from './observers/webhooks/fan-out.ts'
import { findFirstUndecided } from './observers/webhooks/undecided.ts'
import { operatorAccounts } from './operator-account.ts'
import { operatorMail } from './operator-mail.ts'
import type { World } from './platform/world.ts'
import { complain } from './sending/delivery/complain.ts'
import { Gate } from './sending/messages/gate.ts'

export type Shared = ReturnType<typeof buildShared>

export function buildShared(world: World, publicUrl: () => string) {
  const gate = new Gate(world)
  const arrivals = new Arrivals(world)
  const operator = operatorAccounts(world)
  const emailContact = contactPersons(world, emailContacts(world))
  const tokens = new AccessTokens(world)
  return {
    gate,
    arrivals,
    inboxes: localInboxes(world, arrivals),
    tokens,
    relays: providerRelays(world, tokens),
    keptSources: sentSources,
    servers: providersOf(world.config),
    composing: composingWith(world, { gate, publicUrl, schedule: scheduleComposed(world) }),
    publicUrl,
    sendMail: operatorMail(world, gate, operator),
    postmaster: new Postmaster(world, { gate, arrivals, operator }),
    approvalLink: approvalLinks(world, { publicUrl, emailContact }),
    emailContact,
    complain,
    eventReaders: { backlogs: [pushBacklogs, statusBacklogs], findFirstUndecided },
    onAttachmentText: addFindings,
    attachInboxes,
  }
}
