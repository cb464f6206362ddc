// The access matrix: every endpoint against every kind of principal, found by calling. A tick means the principal gets past
// the gate; what it then reaches is the business of the other tests.
import { randomUUID } from 'node:crypto'
import type { Contract } from '../../src/platform/http/contract.ts'
import type { Api } from '../support/client.ts'
import { anInbox, type TestAccount } from '../support/factories.ts'
import { bodyFor, pathFor } from './samples.ts'

export async function principals(account: TestAccount): Promise<Record<string, Api>> {
  const tenant_id = account.tenant.id
  const inbox_id = await anInbox(account)
  return {
    nobody: account.box.client(),
    operator: account.box.operator,
    'account:admin': account.api,
    'account:send': await account.withKey({ scopes: ['send'] }),
    'account:read': await account.withKey({ scopes: ['read'] }),
    'account:feedback': await account.withKey({ scopes: ['feedback'] }),
    'account:suspend': await account.withKey({ scopes: ['suspend'] }),
    'tenant:send': await account.withKey({ scopes: ['send'], tenant_id }),
    'tenant:read': await account.withKey({ scopes: ['read'], tenant_id }),
    'tenant:feedback': await account.withKey({ scopes: ['feedback'], tenant_id }),
    'inbox:send': await account.withKey({ scopes: ['send'], inbox_id }),
    'inbox:read': await account.withKey({ scopes: ['read'], inbox_id }),
  }
}

export async function accessMatrix(account: TestAccount): Promise<string> {
  const columns = await principals(account)
  const names = Object.keys(columns)
  const rows: string[][] = [['endpoint', ...names]]
  for (const contract of account.box.app.contracts) {
    const marks = names.map(async name => ((await isLetIn(contract, columns[name]!)) ? '✓' : '✗'))
    rows.push([`${contract.method} ${contract.path}`, ...(await Promise.all(marks))])
  }
  return table(rows)
}

async function isLetIn(contract: Contract, api: Api): Promise<boolean> {
  const path = pathFor(contract, { id: randomUUID() })
  const { status } = await api.request(contract.method, path, { body: bodyFor(contract) })
  return status !== 401 && status !== 403
}

function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}
