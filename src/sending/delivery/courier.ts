// The life of a queued mail, downward: claim what is next, look at the pauses, make the final bytes, talk to the
// receiver, decide, record. The network is never touched inside a transaction; a lease says whose it is.
import { randomUUID } from 'node:crypto'
import { system } from '../../platform/db/actor.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import { untilDrained } from '../../platform/work/recorder.ts'
import type { World } from '../../platform/world.ts'
import { ended, simulated, type End } from './ends.ts'
import { InFlight, leaseOf } from './in-flight.ts'
import { Holder, leaseEnd } from './holder.ts'
import { LargeMail, type Attempted } from './large-mail.ts'
import { PauseCheck } from '../holds/pause-check.ts'
import { claimDue, claimSiblings, destinationOf, type Claimed } from '../queue/attempts.ts'
import type { RelayMail } from '../relay/relay-mail.ts'
import { deliverLocally, type LocalInboxes } from './local.ts'
import type { MessageToSend } from './queries.ts'
import { OutcomeRecorder } from './recorder.ts'
import { recordComplaintReport } from './reports.ts'
import { returnPath, type OnEnvelope } from './return-path.ts'
import { Sources, type DomainKeys, type KeptSources } from './sources.ts'
import { factsOf, groupOf, transactionsOf, needsSmtputf8 } from './transactions.ts'
import type { Envelope, SendResult } from '../../smtp/client/outcome.ts'
import { attemptedOn, BODY_GONE, isTooOld, NOT_ATTEMPTED, verdictOf } from './verdict.ts'

export interface Transport {
  send(domain: string, envelope: Envelope, signal?: AbortSignal): Promise<SendResult[]>
}

/** After an attempt that failed on our side. */
const FAILED_DEFER_MS = 60_000

/** One transaction: a recipient of a message, or several at one destination. */
interface Job {
  message: MessageToSend
  deliveries: Claimed[]
  leaseToken: string
}

interface CourierOptions {
  transport: Transport
  inboxes: LocalInboxes
  relay: Pick<RelayMail, 'deferMs' | 'send'>
  keys: DomainKeys
  kept: KeptSources
}

export class Courier {
  readonly holder: Holder
  readonly #world: World
  readonly #transport: Transport
  readonly #inboxes: LocalInboxes
  readonly #relay: Pick<RelayMail, 'deferMs' | 'send'>
  readonly #sources: Sources
  readonly #large: LargeMail
  readonly #pauseCheck: PauseCheck
  readonly #recorder: OutcomeRecorder
  readonly #inFlight: InFlight

  constructor(world: World, { transport, inboxes, relay, keys, kept }: CourierOptions) {
    this.#world = world
    this.holder = new Holder(world)
    this.#inFlight = new InFlight(world.load)
    this.#transport = transport
    this.#inboxes = inboxes
    this.#relay = relay
    this.#sources = new Sources(world, { keys, kept })
    this.#large = new LargeMail(this.#sources, this.#inFlight)
    this.#pauseCheck = new PauseCheck(world)
    this.#recorder = new OutcomeRecorder(world, this.holder)
    world.metrics.gauge('sluice_deliveries_in_flight', 'Deliveries this process is attempting', [], gauge => {
      gauge.set(this.#inFlight.size)
    })
  }

  /** Claims what is next and starts it; answers how much. Waits while no more may be in flight. */
  async takeNext(signal: AbortSignal): Promise<number> {
    const limit = await this.#inFlight.claimLimit(signal)
    if (limit === 0 || !this.holder.mayClaim) return 0
    const leaseToken = randomUUID()
    const claimed = await this.#world.db.transactLightly(system('delivery'), async tx => {
      const claim = { holderId: this.holder.id, leaseToken, leaseUntil: leaseEnd(tx), limit }
      const due = await claimDue(tx, claim)
      const relayed = due.filter(({ relay_inbox_id }) => relay_inbox_id !== null)
      return relayed.length > 0 ? [...due, ...(await claimSiblings(tx, claim, relayed))] : due
    })
    if (claimed.length === 0) return 0
    this.#inFlight.begin(claimed, leaseToken)
    for (const job of await this.#jobsOrNone(claimed, leaseToken)) void this.#run(job, signal)
    return claimed.length
  }

  /** Keeps the leases of what is under way, with what waits to be recorded. */
  heartbeat(): Promise<void> {
    return this.holder.beat(() => this.#inFlight.leases)
  }

  /** Waits for what is under way to end and to be recorded; what does not end in time is given back by its lease. */
  async drain(timeoutMs: number): Promise<void> {
    await untilDrained(this.#inFlight, timeoutMs)
    const outcomes = this.#recorder.giveUp()
    if (outcomes > 0) {
      this.#world.log.error({ outcomes }, 'known outcomes are lost with this process: their mail will be sent again')
    }
    await this.holder.leave()
    await this.#sources.close()
  }

  /** What was claimed and cannot be read is given back: its leases must not be kept alive. */
  async #jobsOrNone(claimed: readonly Claimed[], leaseToken: string): Promise<Job[]> {
    try {
      return await this.#jobsOf(claimed, leaseToken)
    } catch (error) {
      const isOver = this.#release(claimed, leaseToken).catch(() => {})
      void isOver.finally(() => this.#inFlight.end(claimed, leaseToken))
      throw error
    }
  }

  async #jobsOf(claimed: readonly Claimed[], leaseToken: string): Promise<Job[]> {
    const ids = [...new Set(claimed.map(delivery => delivery.message_id))]
    const messages = await this.#sources.listMessages(ids)
    const byId = new Map(messages.map(message => [message.id, message]))
    const groups = Map.groupBy(claimed, groupOf)
    return [...groups.values()].flatMap(group => {
      const message = byId.get(group[0]!.message_id)!
      return transactionsOf(message, group).map(deliveries => ({ message, deliveries, leaseToken }))
    })
  }

  async #run(job: Job, signal: AbortSignal): Promise<void> {
    try {
      await this.#attempt(job, signal)
    } catch (error) {
      await this.#abandon(job, error, signal)
    } finally {
      this.#inFlight.end(job.deliveries, job.leaseToken)
    }
  }

  /**
   * Nothing was recorded: the mail goes back to the queue as soon as the database is there. What failed for a reason of its
   * own would fail again at once.
   */
  async #abandon({ message, deliveries, leaseToken }: Job, err: unknown, signal: AbortSignal): Promise<void> {
    if (!signal.aborted) this.#world.log.error({ err, message_id: message.id }, 'an attempt could not be made')
    const isOver =
      signal.aborted || isUnavailable(err)
        ? this.#release(deliveries, leaseToken)
        : this.#defer(deliveries, leaseToken, FAILED_DEFER_MS)
    await isOver.catch(() => {})
  }

  async #attempt(job: Job, signal: AbortSignal): Promise<void> {
    const { message, deliveries, leaseToken } = job
    const { destinations } = this.#inFlight
    const destination = destinationOf(deliveries[0]!)
    const deferMs = message.is_sandbox ? null : this.#deferMs(message, deliveries)
    if (deferMs !== null) return this.#defer(deliveries, leaseToken, deferMs)
    const attempted = await this.#attemptWithMemory(job, signal)
    if (attempted.kind === 'full') return this.#defer(deliveries, leaseToken, attempted.retryDelayMs)
    const ends = attempted.result
    const refused = deliveries.filter((_, index) => ends[index]!.outcome.kind === 'waited_too_long')
    destinations.countServed(destination, deliveries.length - refused.length)
    await this.#recordAll(job, ends, signal)
    if (refused.length > 0) {
      destinations.markSlow(destination)
      await this.#defer(refused, leaseToken, destinations.deferRefusedMs(destination, refused.length))
    }
  }

  #deferMs({ relay_inbox_id }: MessageToSend, deliveries: readonly Claimed[]): number | null {
    const asked = relay_inbox_id === null ? null : this.#relay.deferMs(relay_inbox_id)
    return asked ?? this.#inFlight.deferMs(deliveries)
  }

  async #attemptWithMemory(job: Job, signal: AbortSignal): Promise<Attempted<End[]>> {
    const { message, deliveries } = job
    const isLocal = message.relay_inbox_id === null && (await this.#inboxes.takes(deliveries[0]!.recipient_domain))
    if (message.is_sandbox && !isLocal) {
      return { kind: 'attempted', result: simulated(deliveries, await this.#mayBegin(job, { isClear: false })) }
    }
    const send = () => this.#send(job, { isLocal, signal })
    if (message.source) return { kind: 'attempted', result: await send() }
    return this.#large.attempt(message, { recipients: deliveries.length, signal }, send)
  }

  /** Each for itself: what was delivered must not be sent again because another's outcome could not be stored. */
  async #recordAll(job: Job, ends: readonly End[], signal: AbortSignal): Promise<void> {
    const { message, deliveries, leaseToken } = job
    const now = this.#world.clock.now()
    const recorded = await Promise.allSettled(
      deliveries.map(async (delivery, index) => {
        const { outcome, complains } = ends[index]!
        if (outcome.kind === 'waited_too_long') return
        if (outcome.kind === 'withheld') return this.#release([delivery], leaseToken)
        const verdict = verdictOf(outcome, attemptedOn(delivery), now)
        await this.#recorder.record({ delivery, leaseToken, verdict })
        if (complains) {
          const { message_id: messageId, n } = delivery
          await recordComplaintReport(this.#world, { messageId, n, detail: 'sandbox' })
        }
      }),
    )
    await Promise.all(
      recorded.map(async (each, index) => {
        if (each.status === 'fulfilled') return
        await this.#abandon({ message, deliveries: [deliveries[index]!], leaseToken }, each.reason, signal)
      }),
    )
  }

  async #send(job: Job, { isLocal, signal }: { isLocal: boolean; signal: AbortSignal }): Promise<End[]> {
    const { message, deliveries, leaseToken } = job
    const suspects = deliveries.filter(each => each.is_suspect).map(each => leaseOf(each, leaseToken))
    const mark = (isBegun: boolean) => (suspects.length > 0 ? this.holder.markBegun(suspects, isBegun) : null)
    await mark(true)
    const ready = await this.#sources.ready(message, deliveries[0]!.recipient)
    if (!ready) return deliveries.map(() => ({ outcome: BODY_GONE, complains: false }))
    // From here to the pause check it only waits for a connection.
    await mark(false)
    const envelope = {
      mailFrom:
        message.relay_inbox_id === null
          ? returnPath(this.#world.secrets, message.id, onEnvelope(deliveries[0]!), ready.returnPathDomain)
          : message.sender,
      recipients: deliveries.map(delivery => delivery.recipient),
      source: ready.source,
      smtputf8: message.needs_smtputf8 || deliveries.some(({ recipient }) => needsSmtputf8(recipient)),
      requireTls: message.require_tls,
      owner: message.account_id,
      mayBegin: async (connection: { isClear: boolean }) => {
        await mark(true)
        return this.#mayBegin(job, connection)
      },
    }
    if (message.relay_inbox_id !== null) return this.#sendByRelay(job, envelope, signal)
    if (isLocal) return this.#sendLocally(job, envelope, signal)
    return ended(await this.#converse(job, envelope, signal))
  }

  #converse({ deliveries }: Job, envelope: Envelope, signal: AbortSignal): Promise<SendResult[]> {
    return this.#inFlight.talk(deliveries, () =>
      this.#transport.send(deliveries[0]!.recipient_domain, envelope, signal),
    )
  }

  async #sendByRelay(job: Job, envelope: Envelope, signal: AbortSignal): Promise<End[]> {
    const { message, deliveries } = job
    const { relay_inbox_id: inboxId, sender } = message
    const send = () => this.#relay.send({ inboxId: inboxId!, sender, envelope, signal })
    return ended(await this.#inFlight.talk(deliveries, send))
  }

  /** Those without an inbox meet what they would meet at any other domain. */
  async #sendLocally(job: Job, envelope: Envelope, signal: AbortSignal): Promise<End[]> {
    const { message, deliveries } = job
    const results = await deliverLocally(this.#inboxes, deliveries, envelope)
    const others = deliveries.filter((_, index) => results[index]!.kind === 'no_inbox')
    if (others.length === 0) return ended(results as SendResult[])
    const recipients = others.map(({ recipient }) => recipient)
    const rest = message.is_sandbox
      ? simulated(others, true)
      : ended(await this.#converse({ ...job, deliveries: others }, { ...envelope, recipients }, signal))
    return results.map(result => (result.kind === 'no_inbox' ? rest.shift()! : { outcome: result, complains: false }))
  }

  #mayBegin({ message, deliveries }: Job, { isClear }: { isClear: boolean }): Promise<boolean> {
    return this.#pauseCheck.mayBegin({ accountId: message.account_id, facts: factsOf(message, deliveries), isClear })
  }

  async #release(deliveries: readonly Claimed[], leaseToken: string): Promise<void> {
    this.#inFlight.release(deliveries, leaseToken)
    await Promise.all(deliveries.map(delivery => this.#recorder.release(leaseOf(delivery, leaseToken))))
  }

  async #defer(deliveries: readonly Claimed[], leaseToken: string, milliseconds: number): Promise<void> {
    const now = this.#world.clock.now()
    const due_at = new Date(now.getTime() + milliseconds)
    await Promise.all(
      deliveries.map(delivery => {
        if (!isTooOld(delivery.accepted_at, now)) {
          this.#inFlight.release([delivery], leaseToken)
          return this.#recorder.defer({ ...leaseOf(delivery, leaseToken), due_at })
        }
        // Deferred again and again without an attempt, it would stay in the queue for ever.
        const verdict = verdictOf(NOT_ATTEMPTED, attemptedOn(delivery), now)
        return this.#recorder.record({ delivery, leaseToken, verdict })
      }),
    )
  }
}

const onEnvelope = ({ n, envelope }: Claimed): OnEnvelope => (envelope === undefined ? { n } : { envelope })
