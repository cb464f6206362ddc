// Finding an account on behalf of the operator or of the service itself, who reach all of them.
export { findAccountAnywhere, requireAccountAnywhere } from './queries.ts'
