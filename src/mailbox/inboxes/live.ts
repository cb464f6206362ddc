// Whether inboxes that somebody once found are still there: for what lasts longer than a request.
export { listLiveInboxes } from './queries.ts'
