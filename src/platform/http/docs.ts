// What describes the service to machines and people: the OpenAPI document, the API reference, the metrics.
import { hash } from 'node:crypto'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { cidrList } from '../net/cidr.ts'
import { refuse } from '../refusal.ts'
import { sameSecret } from '../secrets.ts'
import type { World } from '../world.ts'
import type { LargeAnswers } from './large-answers.ts'
import { anyone, endpoint, reply, route, type Route } from './contract.ts'

const openApiEndpoint = endpoint({
  method: 'GET',
  path: '/openapi.json',
  summary: 'This document',
  access: anyone,
  isLargeRead: true,
  replies: { 200: { raw: 'application/json; charset=utf-8' } },
  audit: null,
})

const metricsEndpoint = endpoint({
  method: 'GET',
  path: '/metrics',
  operationId: 'getPrometheusMetrics',
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
  operationId: 'getHome',
  summary: 'Leads to the API reference',
  access: anyone,
  replies: { 302: null },
  audit: null,
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
    return reply(200, await world.metrics.registry.metrics())
  }),
]

/** The reference page and its script are served from the package: nothing is fetched from elsewhere. */
export async function mountReference(app: FastifyInstance, largeAnswers: LargeAnswers): Promise<void> {
  let script: Buffer | null = null
  // A scope of its own, so that the policy meets these pages alone.
  await app.register(async pages => {
    // Four megabytes, for anybody: strangers share permits.
    pages.addHook('preHandler', (request, reply) => largeAnswers.begin('strangers', request, reply))
    pages.addHook('onSend', async (_request, reply, payload) => {
      const isPage = String(reply.getHeader('content-type')).includes('html')
      reply.header('content-security-policy', pagePolicy(isPage ? String(payload) : ''))
      if (isPage || typeof payload !== 'string' || payload.length < SCRIPT_CHARS_MIN) return payload
      // The package hands its script over as text; encoding it anew for each request took 50 ms of the main thread.
      script ??= Buffer.from(payload)
      return script
    })
    await pages.register(scalar, { routePrefix: '/docs', configuration: REFERENCE })
  })
}

/** Nothing else that is served here is as long. */
const SCRIPT_CHARS_MIN = 1_000_000

const REFERENCE = {
  url: '/openapi.json',
  title: 'Sluice API',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  mcp: { disabled: true },
  agent: { disabled: true },
} as const

/**
 * Only our own host, and of scripts in the page only those that were in it when it left. The reference makes its styles
 * while it runs, so those cannot be named beforehand.
 */
function pagePolicy(page: string): string {
  const inline = [...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map(match => match[1]!).filter(Boolean)
  const hashes = inline.map(script => ` 'sha256-${hash('sha256', script, 'base64')}'`).join('')
  return [
    "default-src 'none'",
    `script-src 'self'${hashes}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
