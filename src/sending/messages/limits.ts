// Limits of a message.

/** Decoded, of all attachments together. */
export const ATTACHMENT_BYTES_MAX = 26_214_400
/** RFC 5322 §2.1.1: no header line may be longer; a subject is one. */
export const SUBJECT_BYTES_MAX = 998
export const TEXT_BYTES_MAX = 10 * 1024 * 1024
/** Whatever the tenant's setting: a message takes 0.1 ms of the database for each. */
export const RECIPIENTS_MAX = 10_000
export const HEADERS_MAX = 100
export const TAGS_MAX = 50
export const TAG_LENGTH_MAX = 128
export const METADATA_PAIRS_MAX = 50
export const METADATA_NAME_LENGTH_MAX = 40
export const METADATA_VALUE_LENGTH_MAX = 500
/** What is larger takes more than a millisecond or two of the main thread: it is prepared, stored and signed apart. */
export const SMALL_BYTES_MAX = 256 * 1024
export const SMALL_RECIPIENTS_MAX = 200
/** How long an idempotency key is remembered. */
export const IDEMPOTENCY_MS = 24 * 3_600_000

/** Each recipient takes this much of its tenant's time line: tenants with a backlog share as if each sent 1,000/s. */
export const RANK_STEP_MS = 1
/** Longer ones are refused; what is longer than a file system takes is cut. */
export const FILENAME_CHARS_MAX = 4_096

/** In characters; a header has up to four bytes for each. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255
