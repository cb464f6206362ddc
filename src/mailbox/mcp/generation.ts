// Two generations of the protocol on one endpoint. The older begins with a handshake (`initialize`); the newer has none, and
// every request says which version it speaks.
import { RPC, RpcError } from './rpc.ts'

const STATELESS = '2026-07-28'
/** Newest first: a client that asks for another version is offered the first. */
const BY_HANDSHAKE = ['2025-11-25', '2025-06-18', '2025-03-26']

const VERSION_FIELD = 'io.modelcontextprotocol/protocolVersion'

export interface McpHeaders {
  'mcp-protocol-version'?: string
  'mcp-method'?: string
  'mcp-name'?: string
}

interface McpRequest {
  method: string
  params: Record<string, unknown>
  headers: McpHeaders
}

/** Throws what the newer generation answers to a request that contradicts itself or speaks a version that we do not. */
export function isStateless({ method, params, headers }: McpRequest): boolean {
  const inHeader = headers['mcp-protocol-version']
  const meta = params['_meta']
  const inBody = isObject(meta) && Object.hasOwn(meta, VERSION_FIELD) ? meta[VERSION_FIELD] : undefined
  if (inBody === undefined && (inHeader === undefined || BY_HANDSHAKE.includes(inHeader))) return false
  if (inBody === undefined && method === 'initialize') return false
  const version = inBody ?? inHeader
  if (version !== STATELESS) throw unsupported(version)
  if (inHeader !== undefined && inHeader !== version) throw mismatch('MCP-Protocol-Version')
  if (headers['mcp-method'] !== method) throw mismatch('Mcp-Method')
  const name = method === 'tools/call' ? params['name'] : undefined
  if (name !== undefined && decoded(headers['mcp-name']) !== name) throw mismatch('Mcp-Name')
  return true
}

/** The client's version where we speak it, else the newest that begins with a handshake. */
export const negotiated = (asked: unknown): string =>
  BY_HANDSHAKE.find(version => version === asked) ?? BY_HANDSHAKE[0]!

/** All that are spoken: a client that knows none but older ones begins with a handshake. */
export const supportedVersions = [STATELESS, ...BY_HANDSHAKE]

/** Values that a header cannot carry come in Base64. */
function decoded(header: string | undefined): string | undefined {
  const encoded = header === undefined ? null : /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(header)
  return encoded ? Buffer.from(encoded[1]!, 'base64').toString('utf8') : header
}

const unsupported = (requested: unknown): RpcError =>
  new RpcError(RPC.unsupportedVersion, 'Unsupported protocol version.', {
    status: 400,
    data: { supported: supportedVersions, requested: typeof requested === 'string' ? requested.slice(0, 100) : null },
  })

const mismatch = (header: string): RpcError =>
  new RpcError(RPC.headerMismatch, `The header ${header} must say what the body says.`, { status: 400 })

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
