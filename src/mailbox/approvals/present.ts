// An approval as the API shows it.
import type { Approval } from './contract.ts'
import type { StoredApproval } from './queries.ts'

export const presentApproval = (row: StoredApproval): Approval => ({
  id: row.id,
  inbox_id: row.inbox_id,
  status: row.status,
  reasons: row.reasons,
  message: {
    id: row.inbox_message_id,
    thread_id: row.thread_id,
    message_id: row.message_id,
    from: row.from_text,
    to: row.to_list,
    cc: row.cc_list,
    bcc: row.bcc_list,
    subject: row.subject,
    snippet: row.snippet,
    text: row.text ?? '',
    has_attachments: row.has_attachments,
  },
  requested_by: row.requested_by,
  decided_by: row.decided_by,
  decided_at: row.decided_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})
