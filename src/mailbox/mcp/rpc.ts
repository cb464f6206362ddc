// Errors of JSON-RPC, and which refusals of ours become one.
import type { Refusal } from '../../platform/refusal.ts'

export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  /** Headers of a request that do not say what its body says. */
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

export class RpcError extends Error {
  readonly code: number
  readonly status: 200 | 400
  readonly data: object | null

  constructor(
    code: number,
    message: string,
    { status = 200, data = null }: { status?: 200 | 400; data?: object | null } = {},
  ) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.status = status
    this.data = data
  }
}

/** What is wrong with the body itself. Who may call is answered as on every other endpoint. */
export function rpcRefusal({ code, message }: Refusal): object | null {
  const rpcCode =
    code === 'invalid_json'
      ? RPC.parseError
      : code === 'invalid_request' || code === 'payload_too_large'
        ? RPC.invalidRequest
        : null
  return rpcCode === null ? null : { jsonrpc: '2.0', id: null, error: { code: rpcCode, message } }
}
