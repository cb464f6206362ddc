// A message as the API shows it, in lists and alone.
import type { AttachmentInfo, Message, MessageSummary } from './message-schema.ts'
import type { AttachmentRow, MessageRow, TextRow } from './queries.ts'

export const presentSummary = (
  row: MessageRow,
  attachments: readonly AttachmentRow[],
  { attachmentsMax }: { attachmentsMax: number },
): MessageSummary => ({
  id: row.id,
  inbox_id: row.inbox_id,
  thread_id: row.thread_id,
  direction: row.direction,
  folder: row.folder,
  read: row.is_read,
  labels: row.labels,
  from: row.from_text,
  to: row.to_list,
  cc: row.cc_list,
  bcc: row.bcc_list,
  reply_to: row.reply_to,
  subject: row.subject,
  snippet: row.snippet,
  rfc_message_id: row.rfc_message_id,
  in_reply_to: row.in_reply_to,
  references: row.reference_ids,
  date: row.date?.toISOString() ?? null,
  received_at: row.received_at.toISOString(),
  size: row.size,
  attachments: attachments.slice(0, attachmentsMax).map(presentAttachment),
  attachments_truncated: attachments.length > attachmentsMax,
  auth: row.auth,
  shield: row.shield && { verdict: row.shield.verdict, reasons: row.shield.reasons, blocked: row.shield.blocked },
  tainted: row.is_tainted,
  status: row.status,
  approval_id: row.approval_id,
  message_id: row.message_id,
  extracted_data: row.extracted_data,
})

/** Mail that could not be read has no texts. */
export const presentMessage = (
  row: MessageRow,
  texts: TextRow | null,
  attachments: readonly AttachmentRow[],
): Message => ({
  ...presentSummary(row, attachments, { attachmentsMax: attachments.length }),
  text: texts?.text ?? '',
  html: texts?.html ?? null,
  extracted_text: texts?.extracted_text ?? '',
  notes: texts?.notes ?? [],
})

/** How it is filed, and nothing of what its sender wrote: for a caller who may file and not read. */
export const withoutContent = (message: Message): Message => ({
  ...message,
  from: '',
  to: [],
  cc: [],
  bcc: [],
  reply_to: null,
  subject: '',
  snippet: '',
  rfc_message_id: null,
  in_reply_to: null,
  references: [],
  date: null,
  attachments: [],
  attachments_truncated: false,
  auth: null,
  shield: null,
  extracted_data: null,
  text: '',
  html: null,
  extracted_text: '',
  notes: [],
})

export const presentAttachment = (row: Omit<AttachmentRow, 'source_id'>): AttachmentInfo => ({
  id: row.id,
  filename: row.filename,
  content_type: row.content_type,
  size: row.size,
  content_id: row.content_id,
  inline: row.is_inline,
})
