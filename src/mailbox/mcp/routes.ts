// The handler of /mcp.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { answerRpc } from './answer.ts'
import { mcpEndpoint } from './contract.ts'
import { checkOrigin } from './origin.ts'
import type { ToolUses } from './tool.ts'
import { TOOLS } from './tools.ts'

export const mcpRoutes = (world: World, { publicUrl, use }: { publicUrl: () => string; use: ToolUses }): Route[] => [
  route(mcpEndpoint, async ({ caller, by, headers, body }) => {
    checkOrigin(headers.origin, publicUrl())
    const answer = await answerRpc({ world, tools: TOOLS, use }, { caller, by, headers, body })
    return answer.status === 202 ? reply(202, null) : reply(answer.status, answer.body)
  }),
]
