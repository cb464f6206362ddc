// The lease on a connection, for the worker that keeps its session.
export {
  claimDueConnections,
  extendConnectionLeases,
  listLeasedConnections,
  releaseConnectionLeases,
  type DueConnection,
} from './lease-queries.ts'
