// Work for many, each in turn: what fails for one keeps nobody else from theirs.
import { isOwnFailure } from '../db/separately.ts'

/** The first failure is thrown after the last turn. Without a database there are no more turns. */
export async function oneByOne<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let failure: { error: unknown } | null = null
  for (const item of items) {
    try {
      await work(item)
    } catch (error) {
      if (!isOwnFailure(error)) throw error
      failure ??= { error }
    }
  }
  if (failure) throw failure.error
}
