// Whether keys that somebody once came in with still open doors: for what lasts longer than a request.
export { listLiveKeys } from './queries.ts'
