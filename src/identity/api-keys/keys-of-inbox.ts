// What becomes of the keys of an inbox that is deleted: they are revoked with it, and removed with its last row.
export { deleteKeysOfInbox, updateKeysOfInboxRevoked as revokeKeysOfInbox } from './queries.ts'
