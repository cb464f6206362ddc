// The API reference for people. The page and its script come from the package: nothing is fetched from elsewhere. The
// package is one module with four megabytes of script in it, so it is loaded when somebody first asks for the page.
import { hash } from 'node:crypto'
import { fastify, type FastifyInstance } from 'fastify'
import { networkOf } from '../net/cidr.ts'
import type { LargeAnswers } from './large-answers.ts'

const PATHS = ['/docs', '/docs/', '/docs/js/scalar.js']

interface Page {
  status: number
  headers: Record<string, string>
  body: Buffer
}

export async function mountReference(app: FastifyInstance, shares: LargeAnswers): Promise<void> {
  let loaded: Promise<Map<string, Page>> | null = null
  const pageAt = async (path: string): Promise<Page> => {
    loaded ??= loadPages()
    // A failure to load is not remembered: the next reader tries again.
    loaded.catch(() => (loaded = null))
    return (await loaded).get(path)!
  }
  // A scope of its own, so that the limit meets these pages alone.
  await app.register(async pages => {
    // Four megabytes, for anybody.
    pages.addHook('preHandler', (request, reply) => shares.begin(networkOf(request.sourceIp), request, reply))
    for (const path of PATHS) {
      pages.get(path, async (_request, reply) => {
        const { status, headers, body } = await pageAt(path)
        return reply.code(status).headers(headers).send(body)
      })
    }
  })
}

/** What the package answers for each path, with the policy for browsers. */
async function loadPages(): Promise<Map<string, Page>> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const server = fastify()
  await server.register(scalar, { routePrefix: '/docs', configuration: REFERENCE })
  const pages = new Map<string, Page>()
  for (const path of PATHS) {
    const { statusCode: status, headers, rawPayload: body } = await server.inject(path)
    const type = headers['content-type'] ?? ''
    const policy = pagePolicy(type.includes('html') ? body.toString() : '')
    const kept: Record<string, string> = { 'content-security-policy': policy }
    if (type !== '') kept['content-type'] = type
    if (headers.location !== undefined) kept['location'] = headers.location
    pages.set(path, { status, headers: kept, body })
  }
  await server.close()
  return pages
}

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
