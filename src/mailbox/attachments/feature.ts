// Attachments: their bytes, and the text that is read in them.
import type { Feature } from '../../platform/feature.ts'
import { route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { getAttachmentEndpoint } from './contract.ts'
import { Downloads } from './download.ts'
import { textWorker, type OnFindings } from './text-worker.ts'

export function feature(world: World, { onAttachmentText }: { onAttachmentText: OnFindings }): Feature {
  const downloads = new Downloads(world.db)
  return {
    ...textWorker(world, onAttachmentText).feature,
    routes: [
      route(getAttachmentEndpoint, ({ caller, params, headers }) => downloads.begin(caller.reach, params.id, headers)),
    ],
  }
}
