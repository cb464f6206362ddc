// A time limit on what a provider is asked for.
import { ProviderFault } from './fault.ts'

export const TOO_SLOW = 'The provider answers too slowly.'

export async function within<T>(milliseconds: number, act: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ProviderFault('failed', TOO_SLOW)), milliseconds)
  })
  try {
    return await Promise.race([act, late])
  } finally {
    clearTimeout(timer)
  }
}
