// Extraction of data from messages by a model that the operator has configured.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { extractionWorkers } from './workers.ts'
import { Model } from './model.ts'
import { extractionRoutes } from './routes.ts'
import { SchemaChecker } from './schema.ts'

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
