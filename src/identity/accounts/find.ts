// Finding an account on behalf of the operator or of the service itself, who reach all of them.
export { findAccount as findAccountAnywhere, requireAccount as requireAccountAnywhere } from './queries.ts'
