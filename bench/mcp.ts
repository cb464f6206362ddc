// The Model Context Protocol beside the REST endpoint that reads the same: a page of messages, one request at a time.
import { setTimeout as delay } from 'node:timers/promises'
import { apiFetch } from './support/post-load.ts'
import { heading, median, report } from './support/report.ts'
import { startServer, type BenchServer } from './support/server.ts'

const MESSAGES = 40
const SAMPLES = 300
const LIMIT = 20

export async function benchMcp(): Promise<void> {
  heading(`MCP: tools/call list_messages beside the list of the API, ${LIMIT} messages a page`)
  const server = await startServer({ LOG_LEVEL: 'error' })
  const inbox = await anInboxWithMail(server)
  const call = { name: 'list_messages', arguments: { inbox_id: inbox.id, limit: LIMIT } }
  const rest: number[] = []
  const mcp: number[] = []
  for (let n = 0; n < SAMPLES + 50; n++) {
    const listed = await timed(() => get(server, `/v1/inboxes/${inbox.id}/messages?limit=${LIMIT}`))
    const called = await timed(async () => {
      const body = { jsonrpc: '2.0', id: n, method: 'tools/call', params: call }
      const reply = await apiFetch(server, '/mcp', body, server.bearer)
      if (reply.body.result?.structuredContent?.messages.length !== LIMIT) throw new Error(JSON.stringify(reply.body))
    })
    if (n < 50) continue
    rest.push(listed)
    mcp.push(called)
  }
  await server.stop()
  const ratio = median(mcp) / median(rest)
  report({ name: 'GET /v1/inboxes/{id}/messages, p50', value: `${median(rest).toFixed(2)} ms` })
  report({ name: 'tools/call list_messages, p50', value: `${median(mcp).toFixed(2)} ms` })
  report({ name: 'ratio', value: ratio.toFixed(2), target: '<= 2', isMet: ratio <= 2 })
}

/** The sandbox account's own inbox, with mail that it sent to itself. */
async function anInboxWithMail(server: BenchServer): Promise<{ id: string; address: string }> {
  const [inbox] = (await get(server, '/v1/inboxes')).inboxes
  for (let n = 0; n < MESSAGES; n++) {
    const mail = { from: inbox.address, to: [inbox.address], subject: `Minutes ${n}`, text: 'Dear all,\nas agreed.\n' }
    const { status, body } = await apiFetch(
      server,
      '/v1/messages',
      { tenant_id: server.tenantId, ...mail },
      server.bearer,
    )
    if (status !== 202) throw new Error(JSON.stringify(body))
  }
  const deadline = performance.now() + 60_000
  while ((await get(server, `/v1/inboxes/${inbox.id}/messages?limit=100`)).messages.length < MESSAGES) {
    if (performance.now() > deadline) throw new Error('the mail was not filed')
    await delay(50)
  }
  return inbox
}

// oxlint-disable-next-line typescript/no-explicit-any -- replies are read freely here
async function get(server: BenchServer, path: string): Promise<any> {
  const reply = await fetch(server.url + path, { headers: { authorization: `Bearer ${server.bearer}` } })
  return reply.json()
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}
