// The types of events there are.

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
