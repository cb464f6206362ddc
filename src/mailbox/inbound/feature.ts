// Mail that comes in: the MX port.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { MxServer } from './server.ts'

export function feature(world: World): Feature {
  let server: MxServer | null = null
  return {
    smtp: {
      role: 'mx',
      listen: tls => {
        server = new MxServer({ world, tls })
        return server.listen()
      },
      close: async () => server?.close(),
    },
  }
}
