// Accounts: one SaaS platform each. The operator creates them; their admins change the settings.
import type { Static } from 'typebox'
import { get, key, operator, patch, post } from '../../platform/http/contract.ts'
import { component, DateTime, Int64, Name, NamedObject, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { ApiKeyWithSecret } from '../api-keys/key-schema.ts'

/** A century: longer than anybody keeps mail, short enough that date arithmetic cannot overflow. */
const RetentionDays = () => Type.Integer({ minimum: 1, maximum: 36_500 })

const publicFields = {
  id: Uuid(),
  name: Type.String(),
  status: Type.Enum(['active', 'paused']),
  data_region: Type.String(),
}

const settings = {
  suspend_mode: Type.Enum(['hold', 'reject']),
  hold_ttl_seconds: Type.Integer({ minimum: 1, maximum: 3_153_600_000 }),
  body_retention_days: RetentionDays(),
  metadata_retention_days: RetentionDays(),
  hide_suppression_reason: Type.Boolean(),
  require_outbound_tls: Type.Boolean(),
  legal_hold: Type.Boolean(),
  approval_links: Type.Boolean({
    description: 'Alert contacts of the channel email get a link to decide about mail that waits for an approval',
  }),
}

/** What only the operator changes. */
const operatorSettings = {
  sandbox: Type.Boolean(),
  tier: Name(64),
  ai_enabled: Type.Boolean(),
  ai_monthly_token_cap: Int64(),
  webhooks_max: Type.Integer({ minimum: 1, maximum: 2000, description: 'How many webhooks the account may have' }),
}

export const Account = NamedObject('Account', {
  ...publicFields,
  ...settings,
  ...operatorSettings,
  created_at: DateTime(),
})
export type Account = Static<typeof Account>

const AccountWithUsage = NamedObject('AccountWithUsage', {
  ...Account.properties,
  ai_tokens_used: Int64({ description: 'Of ai_monthly_token_cap, in this UTC month' }),
})

/** What a tenant's or an inbox's key may know of the account. */
const AccountSummary = NamedObject('AccountSummary', publicFields)

const AccountUpdate = component('AccountUpdate', Type.Partial(Type.Object(settings)))
export type AccountUpdate = Static<typeof AccountUpdate>

const AccountOperatorUpdate = component(
  'AccountOperatorUpdate',
  Type.Partial(Type.Object({ name: Name(255), ...operatorSettings })),
)
export type AccountOperatorUpdate = Static<typeof AccountOperatorUpdate>

const AccountCreate = NamedObject('AccountCreate', {
  name: Name(255),
  data_region: Type.Optional(Name(64, { default: 'eu' })),
  sandbox: Type.Optional(Type.Boolean({ description: 'Nothing leaves the machine; recipients meet a simulator' })),
})
export type AccountCreate = Static<typeof AccountCreate>

export const createAccountEndpoint = post('/admin/v1/accounts', {
  summary: 'Create an account with a one-time bootstrap admin key',
  access: operator,
  body: AccountCreate,
  replies: { 201: Type.Object({ account: Account, api_key: ApiKeyWithSecret }) },
  audit: 'account.create',
})

export const listAccountsEndpoint = get('/admin/v1/accounts', {
  summary: 'List accounts, newest first',
  access: operator,
  query: PageQuery({}),
  replies: { 200: Page({ accounts: Type.Array(Account) }) },
})

export const updateAccountAsOperatorEndpoint = patch('/admin/v1/accounts/{id}', {
  summary: 'Change what only the operator may: name, sandbox, tier, AI, number of webhooks',
  access: operator,
  body: AccountOperatorUpdate,
  replies: { 200: Account },
  audit: 'account.update',
})

export const getAccountEndpoint = get('/v1/account', {
  summary: 'The account and its settings; tenant and inbox keys see a summary',
  access: key('read', { levels: ['account', 'tenant', 'inbox'] }),
  replies: { 200: Type.Union([AccountWithUsage, AccountSummary]) },
})

export const updateAccountEndpoint = patch('/v1/account', {
  summary: 'Change account settings',
  access: key('admin'),
  body: AccountUpdate,
  replies: { 200: AccountWithUsage },
  audit: 'account.update',
})
