// Storing the attachments of a source; their text is read by a worker later.
export { insertAttachments, type AttachmentRow } from './store-queries.ts'
