// Finding an inbox named in somebody's request: 404 when it is not within the caller's reach, whether it exists or not.
export {
  findInboxAt,
  listLiveInboxes,
  requireInbox as requireInboxInReach,
  requireInboxForUpdate as requireInboxToChange,
} from './queries.ts'
