// A time limit on what a provider is asked for.
import { inTime } from '../../platform/in-time.ts'
import { ProviderFault } from './fault.ts'

export const TOO_SLOW = 'The provider answers too slowly.'

export const within = <T>(milliseconds: number, act: Promise<T>): Promise<T> =>
  inTime(milliseconds, act, () => {
    throw new ProviderFault('failed', TOO_SLOW)
  })
