// Extraction of data from messages by a model that the operator has configured.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { mayAct } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { system } from '../../platform/db/actor.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { saveExtractedData } from '../messages/file.ts'
import { Model } from './model.ts'
import { SchemaChecker } from './schema.ts'
import { extractEndpoint } from './contract.ts'
import { extract, type Extraction } from './extract.ts'
import { deleteLapsedReservations } from './token-queries.ts'

export function feature(world: World): Feature {
  const model = modelOf(world)
  return {
    routes: extractionRoutes(world, { model, schemas: new SchemaChecker(world.threads) }),
    workers: extractionWorkers,
    ...(model && { close: () => model.close() }),
  }
}

/** Null: extraction is not configured. */
function modelOf({ config }: World): Model | null {
  const { AI_BASE_URL: baseUrl, AI_MODEL: name, AI_API_KEY: apiKey } = config
  return baseUrl === null || name === null ? null : new Model({ baseUrl, name, apiKey })
}

const extractionRoutes = (world: World, extraction: Extraction): Route[] => [
  route(extractEndpoint, async ({ by, caller, params, body, signal }) => {
    const { schema, save = false } = body
    const scope = save ? 'send' : 'read'
    if (!mayAct(caller, scope)) throw refuse('insufficient_scope', `This needs a key with the scope ${scope}.`)
    const { id } = params
    const data = await extract(world, extraction, { caller, id, schema, signal: signal() })
    if (save) await saveExtractedData(world, by, { reach: caller.reach, id, data })
    // What was saved stands on the message, for keys that may read it.
    return reply(200, { message_id: id, extracted_data: mayAct(caller, 'read') ? data : null })
  }),
]

const HOUR_MS = 3_600_000

/** Reservations of processes that died count no more once they have lapsed: they are deleted for the space. */
export const extractionWorkers: Worker[] = [
  {
    kind: 'periodic',
    name: 'ai-reservations',
    seconds: 3_600,
    run: async ({ db }) => {
      await db.transact(system('ai-reservations'), tx =>
        deleteLapsedReservations(tx, new Date(tx.now.getTime() - HOUR_MS)),
      )
    },
  },
]
