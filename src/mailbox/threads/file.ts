// What filing adds to threads: those that begin, and the counts, participants and taint of all of them.
export { saveFiled, type FiledThread } from './join-queries.ts'
