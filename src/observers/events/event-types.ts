// The types of events there are: those of the account's log, and those of an inbox, which its streams carry.

export const EVENT_TYPES = [
  'accepted',
  'held',
  'released',
  'delivered',
  'deferred',
  'bounced',
  'blocked',
  'complained',
  'suppressed',
  'expired',
  'cancelled',
  'unsubscribed',
  'suspended',
  'resumed',
  'anomaly_detected',
  'auth_failed',
  'rejected',
] as const

/** Each has a dot in its name, and none of the others has. */
export const INBOX_EVENT_TYPES = [
  'message.received',
  'message.blocked',
  'message.sent',
  'message.delivered',
  'message.bounced',
  'message.complained',
  'message.updated',
  'message.deleted',
  'thread.updated',
  'draft.created',
  'draft.updated',
  'draft.deleted',
  'draft.scheduled',
  'approval.required',
  'approval.approved',
  'approval.rejected',
  'inbox.updated',
] as const
