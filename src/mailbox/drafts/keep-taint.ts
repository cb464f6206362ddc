// A draft outlives the thread that it continues. Whether that thread was to be trusted stays with the draft.
export { updateDraftsTainted as keepTaintInDrafts } from './queries.ts'
