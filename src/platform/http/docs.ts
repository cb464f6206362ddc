// What describes the service to machines: the OpenAPI document and the metrics.
import { cidrList } from '../net/cidr.ts'
import { refuse } from '../refusal.ts'
import { sameSecret } from '../secrets.ts'
import type { World } from '../world.ts'
import { anyone, get, reply, route, type Route } from './contract.ts'
import { Type } from './type.ts'

const openApiEndpoint = get('/openapi.json', {
  summary: 'This document',
  access: anyone,
  isLargeRead: true,
  replies: { 200: { raw: 'application/json; charset=utf-8' } },
})

const metricsEndpoint = get('/metrics', {
  operationId: 'getPrometheusMetrics',
  summary: 'Prometheus metrics; from loopback, or with the operator token',
  access: anyone,
  headers: Type.Object({ 'x-admin-token': Type.Optional(Type.String()) }),
  replies: { 200: { raw: 'text/plain; version=0.0.4; charset=utf-8' } },
  refusals: ['forbidden'],
})

const homeEndpoint = get('/', {
  operationId: 'getHome',
  summary: 'Leads to the API reference',
  access: anyone,
  replies: { 302: null },
})

const loopback = cidrList(['127.0.0.0/8', '::1'])

export const docsRoutes = (
  world: World,
  { document, adminToken }: { document: () => Buffer; adminToken: string },
): Route[] => [
  route(homeEndpoint, async () => reply(302, null, { location: '/docs/' })),
  route(openApiEndpoint, async () => reply(200, document())),
  route(metricsEndpoint, async ({ ip, isForwardedByStranger, headers }) => {
    const token = headers['x-admin-token']
    // A proxy on this machine that forwards everything would otherwise open them to the world.
    const isLocal = loopback.contains(ip) && !isForwardedByStranger
    if (!isLocal && !(token !== undefined && sameSecret(token, adminToken))) {
      throw refuse('forbidden', 'Metrics are open to loopback, or with the X-Admin-Token header.')
    }
    return reply(200, await world.metrics.text())
  }),
]
