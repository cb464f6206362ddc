// What describes the service to machines and people: the OpenAPI document, the API reference, the metrics.
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { cidrList } from '../net/cidr.ts'
import { refuse } from '../refusal.ts'
import { sameSecret } from '../secrets.ts'
import type { World } from '../world.ts'
import { anyone, endpoint, reply, route, type Route } from './contract.ts'

const openApiEndpoint = endpoint({
  method: 'GET',
  path: '/openapi.json',
  summary: 'This document',
  access: anyone,
  replies: { 200: { raw: 'application/json; charset=utf-8' } },
  audit: null,
})

const metricsEndpoint = endpoint({
  method: 'GET',
  path: '/metrics',
  summary: 'Prometheus metrics; from loopback, or with the operator token',
  access: anyone,
  headers: Type.Object({ 'x-admin-token': Type.Optional(Type.String()) }),
  replies: { 200: { raw: 'text/plain; version=0.0.4; charset=utf-8' } },
  refusals: ['forbidden'],
  audit: null,
})

const homeEndpoint = endpoint({
  method: 'GET',
  path: '/',
  summary: 'Leads to the API reference',
  access: anyone,
  replies: { 302: null },
  audit: null,
})

const loopback = cidrList(['127.0.0.0/8', '::1'])

export const docsRoutes = (
  world: World,
  { document, adminToken }: { document: () => string; adminToken: string },
): Route[] => [
  route(homeEndpoint, async () => reply(302, null, { location: '/docs/' })),
  route(openApiEndpoint, async () => reply(200, document())),
  route(metricsEndpoint, async ({ ip, headers }) => {
    const token = headers['x-admin-token']
    if (!loopback.contains(ip) && !(token !== undefined && sameSecret(token, adminToken))) {
      throw refuse('forbidden', 'Metrics are open to loopback, or with the X-Admin-Token header.')
    }
    return reply(200, await world.metrics.registry.metrics())
  }),
]

/** The reference page and its script are served from the package: nothing is fetched from elsewhere. */
export async function mountReference(app: FastifyInstance): Promise<void> {
  await app.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/openapi.json',
      title: 'Sluice API',
      withDefaultFonts: false,
      telemetry: false,
      showDeveloperTools: 'never',
      hideClientButton: true,
      mcp: { disabled: true },
      agent: { disabled: true },
    },
  })
}
