// An object of each kind, made by the endpoint that creates its kind: `/v1/api-keys/{id}` needs one from `/v1/api-keys`.
import assert from 'node:assert/strict'
import type { Contract } from '../../src/platform/http/contract.ts'
import type { Api } from '../support/client.ts'
import { anAccount, type TestAccount } from '../support/factories.ts'
import { bodyFor, pathFor } from './samples.ts'

/** Answers the id of a new object of the kind that the path names before `{id}`, owned by the account. */
export async function anObjectFor(contract: Contract, account: TestAccount): Promise<string> {
  const kind = kindOf(contract.path)
  const own = makers[kind]
  if (own) return own(account)
  const creator = account.box.app.contracts.find(
    each => each.method === 'POST' && each.path.endsWith(`/${kind}`) && 201 in each.replies && each !== contract,
  )
  assert.ok(creator, `nothing creates ${kind}: add a maker to test/endpoints/objects.ts`)
  const ids: Record<string, string> = creator.path.includes('{id}') ? { id: await anObjectFor(creator, account) } : {}
  const created = await apiFor(creator, account).post(pathFor(creator, ids), bodyFor(creator))
  assert.equal(created.status, 201, `${creator.path}: ${JSON.stringify(created.body)}`)
  return created.body.id
}

/** Kinds that no single endpoint creates and names. */
const makers: Record<string, (account: TestAccount) => Promise<string>> = {
  accounts: async () => (await anAccount({ tenants: 0 })).id,
}

export const kindOf = (path: string): string => path.split('/{id}')[0]!.split('/').at(-1)!

export const apiFor = (contract: Contract, account: TestAccount): Api =>
  contract.access.kind === 'operator' ? account.box.operator : account.api
