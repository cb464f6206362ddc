// The Model Context Protocol: one endpoint, JSON-RPC 2.0 in and out.
import type { Static } from 'typebox'
import { key, post } from '../../platform/http/contract.ts'
import { NamedObject } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'
import { rpcRefusal } from './rpc.ts'
import { TOOLS } from './tools.ts'

const JsonRpcRequest = NamedObject('JsonRpcRequest', {
  jsonrpc: Type.Enum(['2.0']),
  id: Type.Optional(
    Type.Unsafe<string | number>({
      type: ['string', 'integer'],
      maxLength: 500,
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Without it: a notification, which is answered by 202',
    }),
  ),
  method: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'initialize, ping, tools/list, tools/call; server/discover',
    examples: ['ping'],
  }),
  params: Type.Optional(Type.Unknown({ description: 'An object' })),
})
export type JsonRpcRequest = Static<typeof JsonRpcRequest>

const JsonRpcResponse = NamedObject('JsonRpcResponse', {
  jsonrpc: Type.Enum(['2.0']),
  id: Type.Unsafe<string | number | null>({ type: ['string', 'integer', 'null'] }),
  result: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  error: Type.Optional(
    Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  ),
})
export type JsonRpcResponse = Static<typeof JsonRpcResponse>

/** Whether a tool is called that changes something. */
const isSending = (params: unknown): boolean =>
  TOOLS.some(({ name, annotations }) => name === (params as { name?: unknown })?.name && !annotations.readOnlyHint)

const Text = Type.Optional(Type.String({ maxLength: 1_000 }))

export const mcpEndpoint = post('/mcp', {
  operationId: 'callMcp',
  summary: 'Model Context Protocol: mailboxes as tools for agents',
  access: key('read', { levels: LEVELS, orScope: 'send' }),
  // A mail that is sent may wait for others of its account, and keeps nobody from reading meanwhile.
  isLargeRead: ({ method, params }: JsonRpcRequest) => method !== 'tools/call' || !isSending(params),
  headers: Type.Object({
    origin: Text,
    'mcp-protocol-version': Text,
    'mcp-method': Text,
    'mcp-name': Text,
  }),
  body: JsonRpcRequest,
  presentRefusal: rpcRefusal,
  replies: { 200: JsonRpcResponse, 202: null, 400: JsonRpcResponse, 413: JsonRpcResponse },
  refusals: ['forbidden'],
  audit: null,
})
