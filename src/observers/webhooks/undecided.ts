// Lent to the retention of events: what is still to be pushed stays.
export { findFirstUndecided } from './attempt-queries.ts'
