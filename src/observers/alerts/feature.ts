// Alerts, and the people who are told of them.
import type { Feature } from '../../platform/feature.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import type { Dns } from '../../platform/net/dns.ts'
import { GuardedHttp } from '../../platform/net/guarded-http.ts'
import type { World } from '../../platform/world.ts'
import type { Ways } from './channels.ts'
import { alertLoops } from './loops.ts'
import { alertRoutes } from './routes.ts'

interface Shared {
  http: GuardedHttp
  dns: Dns
  quickDns: Dns
  sendMail: Ways['sendMail']
}

export function feature(world: World, { http, dns, quickDns, sendMail }: Shared): Feature {
  // The paging service is the operator's own choice, so it may stand anywhere.
  const paging = new GuardedHttp({ dns, allowed: cidrList(['0.0.0.0/0', '::/0']) })
  return {
    routes: alertRoutes(world, quickDns),
    loops: alertLoops({ sendMail, http, paging }),
    close: () => paging.close(),
  }
}
