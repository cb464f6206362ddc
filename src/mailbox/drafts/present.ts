// A draft as the API shows it.
import { presentAttachment } from '../messages/present.ts'
import type { Draft } from './contract.ts'
import type { StoredDraft } from './queries.ts'

export const presentDraft = (draft: StoredDraft): Draft => ({
  id: draft.id,
  inbox_id: draft.inbox_id,
  thread_id: draft.thread_id,
  reply_to_id: draft.reply_to_id,
  forwarded_id: draft.forwarded_id,
  to: draft.to_list,
  cc: draft.cc_list,
  bcc: draft.bcc_list,
  subject: draft.subject,
  text: draft.text,
  html: draft.html,
  attachments: draft.attachments.map(presentAttachment),
  send_at: draft.scheduled_at?.toISOString() ?? null,
  scheduled_at: draft.scheduled_at?.toISOString() ?? null,
  last_error: draft.last_error,
  created_at: draft.created_at.toISOString(),
  updated_at: draft.updated_at.toISOString(),
})
