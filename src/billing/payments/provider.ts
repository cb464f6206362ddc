// Stripe, through its SDK: the two hosted pages, and events whose signature was checked. The SDK is half a second of the main
// thread and 19 MB, so it is loaded where payments are configured, while the process starts and nobody waits.
import type { Stripe } from 'stripe'
import { inTime } from '../../platform/in-time.ts'
import { currentOwner } from '../../platform/owner.ts'
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import { refuse, Refusal } from '../../platform/refusal.ts'

/** A connection that is silent for this long is given up, and tried once more under the same idempotency key. */
const SILENCE_MS_MAX = 6_000
const RETRIES_MAX = 1
/** For all of it; the SDK's own limit is one of silence, and a server may ask it to wait for a minute. */
const CALL_MS_MAX = 15_000
const CALLS_AT_ONCE = { permits: 16, perOwner: 2, waitMsMax: 5_000 }
/** How old a signature may be. */
const TOLERANCE_SECONDS = 300

interface ProviderOptions {
  secretKey: string
  webhookSecret: string
  /** Null: Stripe's own. */
  apiUrl: string | null
  callMs?: number
}

interface Purchase {
  accountId: string
  planId: string
  priceId: string
  /** Null: the checkout makes one. */
  customerId: string | null
  returnUrl: string
  idempotencyKey: string
}

interface Hosted {
  id: string
  url: string
}

export type ProviderEvent = Pick<Stripe.Event, 'id' | 'type' | 'created' | 'data'>

export class PaymentProvider {
  readonly #webhookSecret: string
  readonly #sdk: Promise<Stripe>
  readonly #calls = new Semaphore(CALLS_AT_ONCE)
  readonly #callMs: number

  constructor({ secretKey, webhookSecret, apiUrl, callMs = CALL_MS_MAX }: ProviderOptions) {
    this.#callMs = callMs
    this.#webhookSecret = webhookSecret
    this.#sdk = loadSdk(secretKey, apiUrl)
    // Seen by the first call that needs it.
    this.#sdk.catch(() => {})
  }

  checkout({ accountId, planId, priceId, customerId, returnUrl, idempotencyKey }: Purchase): Promise<Hosted> {
    // On the subscription as well: its events may come before those of the checkout, and without them.
    const metadata = { account_id: accountId, plan_id: planId }
    return this.#call('plan_not_purchasable', sdk =>
      sdk.checkout.sessions.create(
        {
          mode: 'subscription',
          line_items: [{ price: priceId, quantity: 1 }],
          client_reference_id: accountId,
          metadata,
          subscription_data: { metadata },
          ...(customerId !== null && { customer: customerId }),
          success_url: `${returnUrl}?checkout=completed`,
          cancel_url: `${returnUrl}?checkout=cancelled`,
        },
        { idempotencyKey },
      ),
    )
  }

  portal(page: { customerId: string; returnUrl: string; idempotencyKey: string }): Promise<Hosted> {
    const { customerId, returnUrl, idempotencyKey } = page
    return this.#call('no_payment_customer', sdk =>
      sdk.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl }, { idempotencyKey }),
    )
  }

  /**
   * Refused when the signature is not over these bytes, by the secret, and fresh. An event that does not say when it was made
   * counts as made now: what is signed and refused would be sent again for days.
   */
  async readEvent(bytes: Buffer, signature: string | undefined, now: Date): Promise<ProviderEvent> {
    const sdk = await this.#sdk
    try {
      // Of the time of day the SDK takes milliseconds.
      const receivedAt = now.getTime()
      const { webhooks } = sdk
      const event = webhooks.constructEvent(
        bytes,
        signature ?? '',
        this.#webhookSecret,
        TOLERANCE_SECONDS,
        undefined,
        receivedAt,
      )
      const timed = event.created === undefined ? { ...event, created: Math.floor(receivedAt / 1000) } : event
      if (isEvent(timed)) return timed
    } catch (error) {
      throw refuse('invalid_request', 'The signature does not fit the body, or is too old.', { cause: error })
    }
    throw refuse('invalid_request', 'The body is no event.')
  }

  async #call(
    missing: 'plan_not_purchasable' | 'no_payment_customer',
    act: (sdk: Stripe) => Promise<{ id: string; url: string | null }>,
  ): Promise<Hosted> {
    const late = () => {
      throw new Error(`no answer within ${this.#callMs} ms`)
    }
    const run = async () => inTime(this.#callMs, act(await this.#sdk), late)
    try {
      const { id, url } = await this.#calls.run(currentOwner(), busy, run)
      if (!url || !URL.canParse(url)) throw new Error('the payment provider answered without a URL')
      return { id, url }
    } catch (error) {
      throw error instanceof Refusal ? error : refusalOf(error, missing)
    }
  }
}

async function loadSdk(secretKey: string, apiUrl: string | null): Promise<Stripe> {
  const { Stripe: Sdk } = await import('stripe')
  const url = apiUrl === null ? null : new URL(apiUrl)
  return new Sdk(secretKey, {
    ...(url && {
      host: url.hostname,
      protocol: url.protocol === 'http:' ? 'http' : 'https',
      port: url.port || (url.protocol === 'http:' ? 80 : 443),
    }),
    timeout: SILENCE_MS_MAX,
    maxNetworkRetries: RETRIES_MAX,
    telemetry: false,
    appInfo: { name: 'Sluice' },
  })
}

const isEvent = ({ id, type, created, data }: Partial<Stripe.Event>): boolean =>
  NAME.test(id ?? '') &&
  NAME.test(type ?? '') &&
  Number.isSafeInteger(created) &&
  created! >= 0 &&
  created! <= SECONDS_MAX &&
  typeof data?.object === 'object' &&
  data.object !== null

const NAME = /^[!-~]{1,255}$/
/** The end of the year 9999. */
const SECONDS_MAX = 253_402_300_799

/** Something that we named does not exist there; everything else is for the operator to look at. */
function refusalOf(error: unknown, missing: 'plan_not_purchasable' | 'no_payment_customer'): Refusal {
  const { code } = error as { code?: string }
  if (code === 'resource_missing') {
    const what = missing === 'no_payment_customer' ? "the account's customer" : "the plan's price"
    return refuse(missing, `The payment provider does not know ${what}.`, { cause: error })
  }
  return refuse('unavailable', 'The payment provider could not be asked. Try again shortly.', {
    retryAfterSeconds: 30,
    cause: error,
  })
}

const busy = (): Refusal =>
  refuse('unavailable', 'Too many payment pages of this account are being made. Try again shortly.', {
    retryAfterSeconds: 5,
  })
