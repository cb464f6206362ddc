// A mail that is filed for one account after another has attachments whose text may be known already.
export { updateToPending as reopenTexts, updateToShorterQueue as shareQueues } from './queries.ts'
