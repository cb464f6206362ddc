// Loaded before `node:test`: the runner follows every promise through async hooks, to know which test it belongs to. That makes
// an await thirty times as dear, and was a tenth of the time of the whole run. It is needed while files declare their tests;
// after that, what is thrown outside of a test fails its file instead of its test. A file that failed is run again with the
// hooks, which then name the test.
import hooks, { type AsyncHook, type HookCallbacks } from 'node:async_hooks'

const { createHook } = hooks
let ofRunner: AsyncHook | null = null
let callbacks: HookCallbacks = {}
const known: number[] = []

hooks.createHook = options => {
  callbacks = options
  ofRunner = createHook({
    ...options,
    init: (id, ...rest) => {
      known.push(id)
      options.init?.(id, ...rest)
    },
  })
  return ofRunner
}

export const startRunnerHooks = (): void => void ofRunner?.enable()

export const endRunnerHooks = (): void => void ofRunner?.disable()

/** What the runner has noted of a file that has ended: with it, it keeps the services that the tests of the file used. */
export function forgetEnded(): void {
  for (const id of known.splice(0)) callbacks.destroy?.(id)
}
