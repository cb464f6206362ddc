// Loaded before `node:test`: the runner follows every promise through async hooks, to know which test it belongs to. That makes
// an await thirty times as dear, and was a tenth of the time of the whole run. It is needed while files declare their tests;
// after that, what is thrown outside of a test fails its file instead of its test. A file that failed is run again with the
// hooks, which then name the test.
import hooks, { type AsyncHook } from 'node:async_hooks'

const { createHook } = hooks
let ofRunner: AsyncHook | null = null

hooks.createHook = options => (ofRunner = createHook(options))

export const endRunnerHooks = (): void => void ofRunner?.disable()
