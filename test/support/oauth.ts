// A stand-in for the OAuth half of Google or Microsoft: real HTTP, and the checks that they make of every request.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const CLIENT_ID = 'client-id.apps.example'
export const CLIENT_SECRET = 'client-secret-canary'

/** What goes wrong with the next requests to the token endpoint, one each. */
type Fault = 'drop' | 'garbage' | 'huge' | 'unavailable' | 'unauthorized' | 'throttled' | 'no_refresh_token' | 'hang'

interface Issued {
  redirectUri: string
  challenge: string
  nonce: string
  clientId: string
}

export interface OAuthStandIn {
  environment: Record<string, string>
  /** Who agrees next, and what their id_token says besides the usual. */
  email: string
  claims: Record<string, unknown>
  faults: Fault[]
  /** Refresh tokens that are good. */
  grants: Set<string>
  /** Access tokens that were issued, newest last. */
  accessTokens: string[]
  refreshes: number
  revoked: string[]
  lifetimeSeconds: number
  /** Of its clock. */
  now: () => Date
  /** Refresh tokens change with each use. */
  rotates: boolean
  /** Waited for before a refresh is answered. */
  beforeRefresh: () => Promise<void>
  /** The person agrees; answers with the query that the browser brings back. */
  agree(authUrl: string): Promise<string>
  close(): Promise<void>
}

export async function anOAuthProvider(): Promise<OAuthStandIn> {
  const codes = new Map<string, Issued>()
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const standIn: OAuthStandIn = {
    environment: Object.fromEntries(
      ['GOOGLE', 'MICROSOFT'].flatMap(name => [
        [`${name}_CLIENT_ID`, CLIENT_ID],
        [`${name}_CLIENT_SECRET`, CLIENT_SECRET],
        [`${name}_AUTH_URL`, `${url}/authorize?tenant=common`],
        [`${name}_TOKEN_URL`, `${url}/token`],
        [`${name}_REVOKE_URL`, `${url}/revoke`],
      ]),
    ),
    email: 'Ann@Example.com',
    claims: {},
    faults: [],
    grants: new Set(),
    accessTokens: [],
    refreshes: 0,
    revoked: [],
    lifetimeSeconds: 3600,
    now: () => new Date(),
    rotates: false,
    beforeRefresh: async () => {},
    agree: async authUrl => {
      const answer = await fetch(authUrl, { redirect: 'manual' })
      if (answer.status !== 302) throw new Error(`the provider refused: ${await answer.text()}`)
      return new URL(answer.headers.get('location')!).search
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return standIn

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const target = new URL(request.url!, url)
    if (target.pathname === '/authorize') return authorize(target.searchParams, response)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded'
    if (request.method !== 'POST' || !isForm) return answer(response, 400, { error: 'invalid_request' })
    if (target.pathname === '/revoke') {
      standIn.revoked.push(form.get('token')!)
      standIn.grants.delete(form.get('token')!)
      return answer(response, 200, {})
    }
    if (form.get('grant_type') === 'refresh_token') standIn.refreshes += 1
    const fault = standIn.faults.shift()
    if (fault && fault !== 'no_refresh_token') return fail(response, fault)
    if (form.get('client_id') !== CLIENT_ID || form.get('client_secret') !== CLIENT_SECRET)
      return answer(response, 401, { error: 'invalid_client' })
    if (form.get('grant_type') === 'refresh_token') return refresh(form, response)
    exchange(form, response, fault !== 'no_refresh_token')
  }

  function authorize(asked: URLSearchParams, response: ServerResponse): void {
    const need = ['redirect_uri', 'state', 'nonce', 'code_challenge', 'scope'].filter(name => !asked.get(name))
    const isRight =
      asked.get('response_type') === 'code' &&
      asked.get('client_id') === CLIENT_ID &&
      asked.get('code_challenge_method') === 'S256' &&
      asked.get('tenant') === 'common'
    if (need.length > 0 || !isRight) return answer(response, 400, { error: 'invalid_request', need })
    const code = randomBytes(16).toString('hex')
    const redirectUri = asked.get('redirect_uri')!
    const [nonce, challenge] = [asked.get('nonce')!, asked.get('code_challenge')!]
    codes.set(code, { redirectUri, challenge, nonce, clientId: asked.get('client_id')! })
    const location = new URL(redirectUri)
    // Providers bring more than was asked for.
    for (const [name, value] of [
      ['code', code],
      ['state', asked.get('state')!],
      ['scope', 'openid'],
      ['authuser', '0'],
    ])
      location.searchParams.set(name!, value!)
    response.writeHead(302, { location: location.href }).end()
  }

  function exchange(form: URLSearchParams, response: ServerResponse, hasRefreshToken: boolean): void {
    const issued = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (form.get('grant_type') !== 'authorization_code')
      return answer(response, 400, { error: 'unsupported_grant_type' })
    if (!issued || issued.redirectUri !== form.get('redirect_uri') || issued.challenge !== challenge)
      return answer(response, 400, { error: 'invalid_grant' })
    const refreshToken = `refresh-canary-${randomBytes(12).toString('hex')}`
    if (hasRefreshToken) standIn.grants.add(refreshToken)
    const now = Math.floor(standIn.now().getTime() / 1000)
    const claims = {
      iss: 'https://accounts.google.com',
      aud: CLIENT_ID,
      sub: '1',
      nonce: issued.nonce,
      iat: now,
      exp: now + 3600,
      email: standIn.email,
      email_verified: true,
      ...standIn.claims,
    }
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const id_token = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}.${randomBytes(32).toString('base64url')}`
    answer(response, 200, { ...accessToken(), ...(hasRefreshToken && { refresh_token: refreshToken }), id_token })
  }

  async function refresh(form: URLSearchParams, response: ServerResponse): Promise<void> {
    await standIn.beforeRefresh()
    const used = form.get('refresh_token')!
    if (!standIn.grants.has(used)) return answer(response, 400, { error: 'invalid_grant' })
    if (!standIn.rotates) return answer(response, 200, accessToken())
    standIn.grants.delete(used)
    const refresh_token = `refresh-canary-${randomBytes(12).toString('hex')}`
    standIn.grants.add(refresh_token)
    answer(response, 200, { ...accessToken(), refresh_token })
  }

  function accessToken() {
    const access_token = `access-canary-${randomBytes(12).toString('hex')}`
    standIn.accessTokens.push(access_token)
    return { access_token, token_type: 'Bearer', expires_in: standIn.lifetimeSeconds }
  }
}

function answer(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function fail(response: ServerResponse, fault: Fault): void {
  if (fault === 'drop') return void response.destroy()
  if (fault === 'hang') return
  if (fault === 'garbage') return void response.end('<html>')
  if (fault === 'huge') return void response.end(JSON.stringify({ access_token: 'x'.repeat(10 * 1024 * 1024) }))
  if (fault === 'unauthorized') return answer(response, 401, { error: 'invalid_client' })
  if (fault === 'throttled') return answer(response, 429, { error: 'slow_down' }, { 'retry-after': '120' })
  answer(response, 503, { error: 'temporarily_unavailable' })
}
