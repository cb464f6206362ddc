// A stand-in for the endpoint of a model: real HTTP, the checks that such endpoints make of every request, and answers and
// faults that a test chooses.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const AI_API_KEY = 'ai-key-0123456789-canary'
const AI_MODEL = 'test-model'

export interface AskedOfModel {
  messages: { role: string; content: string }[]
  response_format?: { type: string; json_schema?: { name: string; strict: boolean; schema: unknown } }
  max_tokens?: number
  max_completion_tokens?: number
  temperature?: number
}

interface Completion {
  content?: string | null
  usage?: object | null
  finish_reason?: string
  tool_calls?: unknown
}

/** What happens to the next requests, one each. */
type Turn =
  | Completion
  | 'drop'
  | 'hang'
  | 'drip'
  | 'garbage'
  | 'no_choices'
  | 'huge'
  | 'endless'
  | 'redirect'
  | { status: number; headers?: Record<string, string>; error?: string }

export interface ModelStandIn {
  environment: Record<string, string>
  /** What it answers when no turn is left. */
  data: unknown
  /** What it says it used; null: it says nothing. */
  usage: object | null
  turns: Turn[]
  /** Requests that passed the checks, answered or not. */
  calls: AskedOfModel[]
  /** Requests that did not pass them. */
  refused: number
  /** Answers the request that hangs. */
  releaseHanging(completion: Completion): void
  /** Requests whose caller left before the answer. */
  left: number
  hasSchemas: boolean
  /** Wants `max_completion_tokens` and no temperature, as newer models do. */
  isNew: boolean
  close(): Promise<void>
}

export async function aModel(): Promise<ModelStandIn> {
  const hanging: ServerResponse[] = []
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const standIn: ModelStandIn = {
    environment: { AI_BASE_URL: `http://127.0.0.1:${port}/v1`, AI_API_KEY, AI_MODEL },
    data: {},
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    turns: [],
    calls: [],
    refused: 0,
    releaseHanging: completion => take(hanging.shift()!, completion),
    left: 0,
    hasSchemas: true,
    isNew: false,
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
    response.on('close', () => (standIn.left += response.writableFinished ? 0 : 1))
    const text = Buffer.concat(chunks).toString()
    const objection = objectionTo(standIn, request, text)
    if (objection) {
      standIn.refused += 1
      return answer(response, objection.status, { error: { message: objection.message } })
    }
    standIn.calls.push(JSON.parse(text) as AskedOfModel)
    take(response, standIn.turns.shift() ?? { content: JSON.stringify(standIn.data) })
  }

  function take(response: ServerResponse, turn: Turn): void {
    if (turn === 'hang') return void hanging.push(response)
    if (typeof turn === 'string') return fail(response, turn)
    if ('status' in turn) {
      for (const [name, value] of Object.entries(turn.headers ?? {})) response.setHeader(name, value)
      return answer(response, turn.status, { error: { message: turn.error ?? 'no' } })
    }
    const { content = null, usage = standIn.usage, finish_reason = 'stop', tool_calls } = turn
    answer(response, 200, {
      object: 'chat.completion',
      choices: [
        { index: 0, finish_reason, message: { role: 'assistant', content, ...(tool_calls ? { tool_calls } : {}) } },
      ],
      ...(usage && { usage }),
    })
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

function fail(response: ServerResponse, fault: Exclude<Extract<Turn, string>, 'hang'>): void {
  switch (fault) {
    case 'drop':
      return void response.destroy()
    case 'drip':
    case 'endless': {
      const timer = setInterval(() => response.write(fault === 'drip' ? ' ' : ' '.repeat(64 * 1024)), 5)
      return void response.on('close', () => clearInterval(timer))
    }
    case 'garbage':
      return void response.end('<html>')
    case 'no_choices':
      return answer(response, 200, { choices: [] })
    case 'huge':
      return answer(response, 200, { choices: [{ message: { content: 'x'.repeat(10 * 1024 * 1024) } }] })
    case 'redirect':
      response.writeHead(307, { location: '/v1/elsewhere' })
      return void response.end()
  }
}

/** What is wrong with a request, in the words of the providers. */
function objectionTo(
  { hasSchemas, isNew }: ModelStandIn,
  { method, url, headers }: IncomingMessage,
  text: string,
): { status: number; message: string } | null {
  const bad = (message: string) => ({ status: 400, message })
  if (method !== 'POST' || url !== '/v1/chat/completions') return { status: 404, message: 'Unknown request URL' }
  if (headers.authorization !== `Bearer ${AI_API_KEY}`) return { status: 401, message: 'Incorrect API key provided' }
  if (headers['content-type'] !== 'application/json') return bad('Unsupported content type')
  const body = JSON.parse(text) as AskedOfModel & { model?: string; tools?: unknown; stream?: boolean }
  if (body.model !== AI_MODEL) return { status: 404, message: `The model ${body.model} does not exist` }
  if (body.tools !== undefined || body.stream === true) return bad('The stand-in has neither tools nor streams')
  if (body.messages[0]?.role !== 'system' || body.messages.some(({ content }) => typeof content !== 'string'))
    return bad('Invalid messages')
  if (isNew && body.max_tokens !== undefined)
    return bad(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    )
  if (isNew && body.temperature !== undefined) return bad("Unsupported value: 'temperature' does not support 0.")
  return formatObjection(body, hasSchemas)
}

function formatObjection({ response_format: format, messages }: AskedOfModel, hasSchemas: boolean) {
  if (format?.type !== 'json_schema') {
    // As OpenAI does, so that a model does not write blanks for ever.
    const isJsonNamed = messages.some(({ content }) => /json/i.test(content))
    return isJsonNamed ? null : { status: 400, message: "'messages' must contain the word 'json'" }
  }
  if (!hasSchemas) return { status: 400, message: "'response_format' of type 'json_schema' is not supported." }
  const { name = '', strict, schema } = format.json_schema ?? {}
  if (!/^[\w-]{1,64}$/.test(name) || strict !== true || typeof schema !== 'object')
    return { status: 400, message: 'Invalid response_format' }
  const { type, additionalProperties } = schema as { type?: string; additionalProperties?: unknown }
  return type === 'object' && additionalProperties === undefined
    ? { status: 400, message: "Invalid schema for response_format: 'additionalProperties' is required to be false." }
    : null
}
