// Messages that are filed, what is found in them later, and messages whose thread became part of another. The caller has
// locked the inbox.
export {
  insertMessages,
  listInboxesOfSource,
  listReceivedOfSource,
  updateMessageShield,
  updateThreadOfMessages,
  type MessageRow,
  type ReceivedMessage,
} from './insert-queries.ts'
// Messages that were sent: stored, found again, and moved as their deliveries end.
export {
  findComposed,
  insertSentMessages,
  listThreadsOf,
  updateSentMessage,
  updateStatuses,
  type SentRow,
} from './sent-queries.ts'
