// The one write to keys that is not somebody's act.
export { updateKeysLastUsed as updateLastUsed } from './queries.ts'
