// Configuration: every variable optional, every mistake one clear line.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig, type Config, type Environment } from './config.ts'

function configOf(environment: Environment): Config {
  const read = readConfig(environment)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.config
}

function mistakesOf(environment: Environment): string[] {
  const read = readConfig(environment)
  return 'mistakes' in read ? read.mistakes : []
}

test('an empty environment is a valid configuration', () => {
  const config = configOf({ PORT: '' })
  assert.equal(config.PORT, 8080)
  assert.equal(config.HOST, '127.0.0.1')
  assert.equal(config.DATABASE_URL, null)
  assert.deepEqual([...config.ROLES], ['api', 'submission', 'mx', 'worker'])
  assert.equal(config.MX_HOST, 'mx.sluice.test')
})

test('every mistake is told at once, one line each', () => {
  assert.deepEqual(
    mistakesOf({
      PORT: 'http',
      ROLES: 'api,king',
      LOG_LEVEL: 'loud',
      TRUSTED_PROXIES: '10.0.0.0/99',
      TLS_CERT: 'a.pem',
    }),
    [
      'PORT must be a whole number from 0 to 65535, not "http"',
      'ROLES must be one of api, submission, mx, worker, not "king"',
      'TRUSTED_PROXIES must be a list of CIDRs; "10.0.0.0/99" is none',
      'LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud"',
      'TLS_CERT and TLS_KEY must be given together',
    ],
  )
})

test('a mistake never repeats a secret', () => {
  const lines = mistakesOf({ ADMIN_TOKEN: 'canary', SECRET_KEY: 'canary', SMTP_ROUTES: '*=ftp://user:canary@host:1' })
  assert.equal(lines.length, 3)
  assert.ok(
    lines.every(line => !line.includes('canary')),
    lines.join('\n'),
  )
})

test('payments are configured whole or not at all, and their secret leaves the machine encrypted', () => {
  const whole = { STRIPE_SECRET_KEY: 'sk_test_canary', STRIPE_WEBHOOK_SECRET: 'whsec_canary' }
  const together = 'STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be given together'
  assert.equal(configOf(whole).STRIPE_API_URL, null)
  assert.equal(
    configOf({ ...whole, STRIPE_API_URL: 'http://127.0.0.1:12111/' }).STRIPE_API_URL,
    'http://127.0.0.1:12111',
  )
  assert.deepEqual(mistakesOf({ STRIPE_SECRET_KEY: 'sk_test_canary' }), [together])
  assert.deepEqual(mistakesOf({ STRIPE_WEBHOOK_SECRET: 'whsec_canary', STRIPE_SECRET_KEY: '' }), [together])
  assert.deepEqual(mistakesOf({ ...whole, STRIPE_SECRET_KEY: 'canary' }), [
    'STRIPE_SECRET_KEY must have at least 8 characters, it has 6',
  ])
  for (const STRIPE_API_URL of ['http://stripe.example', 'https://stripe.example/v1', 'stripe', 'ftp://127.0.0.1']) {
    assert.equal(mistakesOf({ ...whole, STRIPE_API_URL }).length, 1, STRIPE_API_URL)
  }
})

test('extraction is configured whole or not at all, and a mistake never repeats its key', () => {
  const whole = { AI_BASE_URL: 'http://127.0.0.1:11434/v1/', AI_MODEL: 'small' }
  assert.equal(configOf(whole).AI_BASE_URL, 'http://127.0.0.1:11434/v1')
  assert.equal(configOf({ ...whole, AI_API_KEY: 'canary' }).AI_API_KEY, 'canary')
  const together = 'AI_BASE_URL and AI_MODEL must be given together'
  assert.deepEqual(mistakesOf({ AI_BASE_URL: 'https://ai.example/v1' }), [together])
  assert.deepEqual(mistakesOf({ AI_MODEL: 'small', AI_API_KEY: 'canary' }), [together])
  assert.deepEqual(mistakesOf({ AI_API_KEY: 'canary' }), ['AI_API_KEY needs AI_BASE_URL and AI_MODEL'])
  assert.deepEqual(mistakesOf({ ...whole, AI_API_KEY: 'canary\nX-Other: 1' }), [
    'AI_API_KEY must be printable ASCII without blanks',
  ])
  for (const AI_BASE_URL of [
    'ai',
    'ftp://ai.example',
    'https://user:canary@ai.example/v1',
    'https://ai.example/?a=1',
  ]) {
    const lines = mistakesOf({ ...whole, AI_BASE_URL })
    assert.equal(lines.length, 1, AI_BASE_URL)
    assert.ok(!lines[0]!.includes('canary'), lines[0])
  }
})

test('a provider of mailboxes is configured whole or not at all, and in clear text on this machine only', () => {
  const whole = { GOOGLE_CLIENT_ID: 'id', GOOGLE_CLIENT_SECRET: 'secret-canary' }
  const config = configOf(whole)
  assert.deepEqual(config.GOOGLE_IMAP, { host: 'imap.gmail.com', port: 993, secure: true })
  assert.equal(config.MICROSOFT_CLIENT_ID, null)
  assert.deepEqual(mistakesOf({ GOOGLE_CLIENT_ID: 'id' }), [
    'GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET must be given together',
  ])
  assert.deepEqual(mistakesOf({ MICROSOFT_CLIENT_SECRET: 'secret-canary' }), [
    'MICROSOFT_CLIENT_ID and MICROSOFT_CLIENT_SECRET must be given together',
  ])
  const good = {
    'mail.example:465': true,
    'smtp://127.0.0.1:2525': false,
    'smtp://[::1]:25': false,
    '[2001:db8::1]:465': true,
  }
  for (const [GOOGLE_SMTP, secure] of Object.entries(good))
    assert.equal(configOf({ ...whole, GOOGLE_SMTP }).GOOGLE_SMTP.secure, secure, GOOGLE_SMTP)
  assert.equal(configOf({ GOOGLE_SMTP: 'smtp://[::1]:25' }).GOOGLE_SMTP.host, '::1')
  const bad = [
    'mail.example',
    'smtp://mail.example:25',
    'imap://127.0.0.1:25',
    'user@mail.example:25',
    'mail.example:0x',
  ]
  for (const GOOGLE_SMTP of bad) assert.equal(mistakesOf({ GOOGLE_SMTP }).length, 1, GOOGLE_SMTP)
  for (const GOOGLE_TOKEN_URL of ['http://token.example/', 'ftp://127.0.0.1/', 'https://user@token.example/', 'token'])
    assert.equal(mistakesOf({ GOOGLE_TOKEN_URL }).length, 1, GOOGLE_TOKEN_URL)
})

test('routes are read with and without credentials, for one domain and for all', () => {
  const { SMTP_ROUTES } = configOf({
    SMTP_ROUTES: 'Example.com=127.0.0.1:2500, *=smtp://user:p%40ss@smart.example:587',
  })
  assert.deepEqual(SMTP_ROUTES, [
    { domain: 'example.com', host: '127.0.0.1', port: 2500, auth: null },
    { domain: '*', host: 'smart.example', port: 587, auth: { user: 'user', pass: 'p@ss' } },
  ])
})

test('resolvers, URLs and names are checked', () => {
  assert.deepEqual(configOf({ DNS_SERVERS: '127.0.0.1:5353,[::1]:53,9.9.9.9' }).DNS_SERVERS, [
    '127.0.0.1:5353',
    '[::1]:53',
    '9.9.9.9',
  ])
  assert.equal(configOf({ PUBLIC_URL: 'https://mail.example.com/' }).PUBLIC_URL, 'https://mail.example.com')
  for (const environment of [
    { DNS_SERVERS: 'dns.example' },
    { DNS_SERVERS: '9.9.9.9:99999' },
    { POSTMASTER_ADDRESS: 'ops.example.com' },
    { PUBLIC_URL: 'mail' },
    { PLATFORM_DOMAIN: 'a b' },
    { DEMO: 'yes' },
    { DATABASE_URL: 'mysql://x' },
  ]) {
    assert.equal(mistakesOf(environment).length, 1, JSON.stringify(environment))
  }
})
