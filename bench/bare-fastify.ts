// The peer of the HTTP figures: one Fastify route that answers a tenant from memory, no auth, no database, no log.
import fastify from 'fastify'

const tenant = {
  id: '01a1dd34-0104-7089-b1e7-fed27ddf7a0b',
  external_id: 'acme',
  name: 'Acme',
  status: 'active',
  quota_daily: null,
  quota_monthly: null,
  rate_per_minute: null,
  rate_per_hour: null,
  max_recipients_per_message: 1000,
  created_at: '2026-11-15T03:15:35.305Z',
}
const app = fastify()
app.get('/v1/tenants/:id', async () => tenant)
app.get('/readyz', async () => ({}))
await app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' })
