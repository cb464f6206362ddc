// tools/call: the arguments are checked, the use case runs with the reach of the key, and what it refuses is told to the model.
import type { Actor } from '../../platform/db/actor.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { isObject } from './generation.ts'
import { RPC, RpcError } from './rpc.ts'
import { readInput, toolsFor, type Tool, type ToolUses } from './tool.ts'

export interface Caller {
  caller: KeyPrincipal
  by: Actor
}

/** What serves the calls. */
export interface Toolbox {
  world: World
  tools: readonly Tool[]
  use: ToolUses
}

export async function callTool(
  { world, tools, use }: Toolbox,
  { caller, by }: Caller,
  params: Record<string, unknown>,
): Promise<object> {
  const { name, arguments: given = {} } = params
  const called = toolsFor(caller, tools).find(each => each.name === name)
  if (!called) {
    const shown = typeof name === 'string' ? name.slice(0, 100) : `(no name: ${typeof name})`
    throw new RpcError(RPC.invalidParams, `Unknown tool: ${shown}`)
  }
  if (!isObject(given)) throw new RpcError(RPC.invalidParams, 'params.arguments must be an object.')
  try {
    const input = readInput(caller, called, given)
    const { text, structured } = await called.run({ world, use, caller, by, input: input as never })
    return { content: [{ type: 'text', text }], structuredContent: structured, isError: false }
  } catch (error) {
    // The model can act on it: correct an argument, wait, or give up.
    if (!(error instanceof Refusal)) throw error
    return { content: [{ type: 'text', text: `${error.message} (${error.code})` }], isError: true }
  }
}
