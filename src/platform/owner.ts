// On whose behalf the code is running: the account of the request, or nobody for the service's own work. What is shared,
// such as connections to the database, is shared between owners.
import { AsyncLocalStorage } from 'node:async_hooks'

const owners = new AsyncLocalStorage<string>()

export const runFor = <T>(owner: string, act: () => T): T => owners.run(owner, act)

/** Work that several requests share belongs to none of them. */
export const runForNobody = <T>(act: () => T): T => owners.exit(act)

export const currentOwner = (): string | null => owners.getStore() ?? null
