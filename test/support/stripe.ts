// A stand-in for Stripe: real HTTP, the checks that Stripe makes of every request, and events signed as it signs them.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const STRIPE_SECRET_KEY = 'sk_test_0123456789canary'
export const STRIPE_WEBHOOK_SECRET = 'whsec_0123456789canary'

interface Call {
  path: string
  params: Record<string, string>
  idempotencyKey: string
}

/** What goes wrong with the next requests, one each. */
type Fault = 'refuse' | 'drop' | 'garbage' | 'no_url' | 'drip'

export interface StripeStandIn {
  environment: Record<string, string>
  prices: Set<string>
  customers: Set<string>
  /** Every price and every customer exists. */
  knowsAll: boolean
  /** Requests that were served, those repeated by their idempotency key left out. */
  calls: Call[]
  /** All requests, whatever became of them. */
  requests: number
  faults: Fault[]
  /** Values of the header `Stripe-Signature` for a body. */
  sign(body: string, at: Date, secret?: string): string
  close(): Promise<void>
}

export async function aStripe(): Promise<StripeStandIn> {
  const replies = new Map<string, { params: string; answer: Answer }>()
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const standIn: StripeStandIn = {
    environment: { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_URL: `http://127.0.0.1:${port}` },
    prices: new Set(),
    customers: new Set(),
    knowsAll: false,
    calls: [],
    requests: 0,
    faults: [],
    sign: (body, at, secret = STRIPE_WEBHOOK_SECRET) => {
      const t = Math.floor(at.getTime() / 1000)
      return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return standIn

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    standIn.requests += 1
    const fault = standIn.faults.shift()
    if (fault === 'drop') return void response.destroy()
    if (fault === 'drip') return drip(response)
    if (fault === 'garbage') return void response.end('<html>')
    const answer =
      fault === 'refuse' ? failure(500, 'api_error', 'broken') : answerOnce(request, Buffer.concat(chunks).toString())
    if (fault === 'no_url') delete answer.body['url']
    response.writeHead(answer.status, { 'content-type': 'application/json', 'request-id': 'req_1' })
    response.end(JSON.stringify(answer.body))
  }

  /** A repeated idempotency key gets the first answer again, and an error when it asks for something else. */
  function answerOnce(request: IncomingMessage, params: string): Answer {
    const objection = objectionTo(request)
    if (objection) return objection
    const key = String(request.headers['idempotency-key'])
    const before = replies.get(key)
    if (before) return before.params === params ? before.answer : failure(400, 'idempotency_error', 'Keys differ.')
    const answer = answerTo(standIn, {
      path: request.url!,
      params: Object.fromEntries(new URLSearchParams(params)),
      idempotencyKey: key,
    })
    replies.set(key, { params, answer })
    return answer
  }
}

/** A byte now and then: the connection is never silent for long, and no answer comes. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 50)
  response.on('close', () => clearInterval(timer))
}

interface Answer {
  status: number
  body: Record<string, unknown>
}

const failure = (status: number, type: string, message: string, more: object = {}): Answer => ({
  status,
  body: { error: { type, message, ...more } },
})

/** What is wrong with any request. */
function objectionTo({ method, headers }: IncomingMessage): Answer | null {
  const bad = (message: string): Answer => failure(400, 'invalid_request_error', message)
  if (headers.authorization !== `Bearer ${STRIPE_SECRET_KEY}`)
    return failure(401, 'invalid_request_error', 'Invalid API Key')
  if (method !== 'POST') return bad('Unrecognized request URL')
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return bad('Invalid content type')
  if (!/^\d{4}-\d\d-\d\d(\.\w+)?$/.test(String(headers['stripe-version']))) return bad('Invalid Stripe API version')
  if (!headers['idempotency-key']) return bad('The stand-in wants an idempotency key on every POST')
  return null
}

const KNOWN: Record<string, RegExp> = {
  '/v1/checkout/sessions':
    /^(mode|line_items\[0\]\[(price|quantity)\]|client_reference_id|customer|success_url|cancel_url|(subscription_data\[metadata\]|metadata)\[\w+\])$/,
  '/v1/billing_portal/sessions': /^(customer|return_url)$/,
}

function answerTo(standIn: StripeStandIn, call: Call): Answer {
  const { path, params } = call
  const known = KNOWN[path]
  if (!known) return failure(404, 'invalid_request_error', `Unrecognized request URL (POST: ${path})`)
  const unknown = Object.keys(params).find(name => !known.test(name))
  if (unknown)
    return failure(400, 'invalid_request_error', `Received unknown parameter: ${unknown}`, { param: unknown })
  const missing = missingObject(standIn, call)
  if (missing) return missing
  for (const name of ['success_url', 'cancel_url', 'return_url']) {
    if (name in params && !URL.canParse(params[name]!))
      return failure(400, 'invalid_request_error', 'Not a valid URL', { param: name })
  }
  standIn.calls.push(call)
  const id = `${path.includes('checkout') ? 'cs' : 'bps'}_${standIn.calls.length}`
  return { status: 200, body: { id, object: 'session', url: `https://pay.example/${id}` } }
}

function missingObject({ prices, customers, knowsAll }: StripeStandIn, { path, params }: Call): Answer | null {
  const none = (param: string): Answer =>
    failure(400, 'invalid_request_error', `No such ${param}: '${params[param]}'`, { code: 'resource_missing', param })
  const price = 'line_items[0][price]'
  if (path === '/v1/checkout/sessions') {
    if (params['mode'] !== 'subscription' || params['line_items[0][quantity]'] !== '1' || !params['success_url'])
      return failure(400, 'invalid_request_error', 'Missing required param')
    if (!knowsAll && !prices.has(params[price]!)) return none(price)
  }
  const customer = params['customer']
  if (path === '/v1/billing_portal/sessions' && customer === undefined)
    return failure(400, 'invalid_request_error', 'Missing required param: customer.')
  return customer !== undefined && !knowsAll && !customers.has(customer) ? none('customer') : null
}
