// Alerts, and the people who are told of them.
import type { Feature } from '../../platform/feature.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import { GuardedHttp } from '../../platform/net/guarded-http.ts'
import type { World } from '../../platform/world.ts'
import type { Ways } from './channels.ts'
import { alertLoops } from './loops.ts'
import { alertRoutes } from './routes.ts'

export function feature(world: World, { sendMail }: Pick<Ways, 'sendMail'>): Feature {
  const { dns, http } = world
  // The paging service is the operator's own choice, so it may stand anywhere.
  const paging = new GuardedHttp({ dns, allowed: cidrList(['0.0.0.0/0', '::/0']) })
  return {
    routes: alertRoutes(world),
    loops: alertLoops({ sendMail, http, paging }),
    close: () => paging.close(),
  }
}
