// Events of deliveries, and what the streams of an inbox call them.

/** Null: only the status moves. */
export const EVENT_KINDS: Readonly<Record<string, string | null>> = {
  delivered: 'message.delivered',
  bounced: 'message.bounced',
  blocked: 'message.bounced',
  expired: 'message.bounced',
  complained: 'message.complained',
  cancelled: null,
  held: null,
  released: null,
}
