// Mailboxes for agents, over the Model Context Protocol.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { reply, route } from '../../platform/http/contract.ts'
import { refuse } from '../../platform/refusal.ts'
import type { Composing } from '../compose/composing.ts'
import { Search } from '../search/search.ts'
import { answerRpc } from './answer.ts'
import { mcpEndpoint } from './contract.ts'
import { TOOLS } from './tools.ts'

interface Shared {
  publicUrl: () => string
  composing: Composing
}

export function feature(world: World, { publicUrl, composing }: Shared): Feature {
  const toolbox = { world, tools: TOOLS, use: { search: new Search(world, world.db), composing } }
  const answers = route(mcpEndpoint, async ({ caller, by, headers, body }) => {
    checkOrigin(headers.origin, publicUrl())
    const answer = await answerRpc(toolbox, { caller, by, headers, body })
    return answer.status === 202 ? reply(202, null) : reply(answer.status, answer.body)
  })
  return { routes: [answers] }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Pages of other sites must not reach the endpoint through a browser that can: one on the same machine or network. Browsers
 * name the origin of a page; other clients name none.
 */
function checkOrigin(origin: string | undefined, publicUrl: string): void {
  if (origin === undefined) return
  const own = URL.canParse(publicUrl) ? new URL(publicUrl) : null
  const given = URL.canParse(origin) ? new URL(origin) : null
  const isOwn = own !== null && given !== null && given.origin === own.origin
  // Tools of a developer, beside an installation on the same machine.
  const areLocal = own !== null && given !== null && LOOPBACK.has(own.hostname) && LOOPBACK.has(given.hostname)
  if (!isOwn && !areLocal) throw refuse('forbidden', 'Pages of this origin may not call here.')
}
