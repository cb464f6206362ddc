// On whose behalf the code is running: the account of the request, or nobody for the service's own work. What is shared,
// such as connections to the database, is shared between owners, and within an owner between
// its tenants.
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Behalf {
  owner: string
  /** Empty where the key is for the whole account. */
  tenant: string
  /** Rejects when the caller may no longer act: its key was revoked or expired. */
  confirm?: () => Promise<void>
}

const owners = new AsyncLocalStorage<Behalf>()

export const runFor = <T>(owner: string, act: () => T, others: Partial<Omit<Behalf, 'owner'>> = {}): T =>
  owners.run({ owner, tenant: '', ...others }, act)

/** Work that several requests share belongs to none of them. */
export const runForNobody = <T>(act: () => T): T => owners.exit(act)

export const currentOwner = (): string | null => owners.getStore()?.owner ?? null

/** Asked after the caller has waited for something. */
export const confirmCaller = async (): Promise<void> => owners.getStore()?.confirm?.()

export const currentTenant = (): string => owners.getStore()?.tenant ?? ''
