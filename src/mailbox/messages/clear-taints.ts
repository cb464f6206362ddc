// Clearing the taint of a thread's messages, in batches.
export { updateMessagesUntainted as clearTaints } from './change-queries.ts'
