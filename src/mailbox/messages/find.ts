// Finding a message named in somebody's request: 404 when it is not within the caller's reach, whether it exists or not.
export { findTexts as findMessageTexts, requireMessage as requireMessageInReach } from './queries.ts'
/** Messages that a search has found, shown as lists show them. */
export { withAttachments } from './list.ts'
export { MessageSummary } from './message-schema.ts'
export { listMessageRows, type AttachmentRow, type MessageRow } from './queries.ts'
