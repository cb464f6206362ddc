/**
 * The settings the embedded server runs with. They are given on the command line and not written into the
 * cluster, so that a new version of Sluice changes them for existing installations too.
 */
import { totalmem } from 'node:os'

/** Socket files are named after the port, so it must be the same for the server and everyone who connects. */
export const PORT = '5432'

const SETTINGS: Record<string, string> = {
  port: PORT,
  // No TCP at all: nothing to scan, no port to collide with. The socket folder and the password guard the rest.
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '200',

  // An accepted message must survive a power cut.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // Not compressed: the binaries have pglz alone, which took an eighth of a core while a long queue was moved.
  wal_compression: 'off',
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',

  // Flash: a random page costs about as much as the next one.
  random_page_cost: '1.1',
  jit: 'off',
  // A few cores serve many callers: one who reads much must not take them all. Nor does it gain by it: sums over 1,000
  // tenants took 63 ms with helpers and 44 ms without.
  max_parallel_workers_per_gather: '0',

  // Queue tables turn over all the time: vacuum early and often instead of rarely and long.
  autovacuum_vacuum_scale_factor: '0.05',
  autovacuum_analyze_scale_factor: '0.05',
  autovacuum_naptime: '15s',
  // A transaction left open keeps vacuum from every table.
  idle_in_transaction_session_timeout: '60s',

  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'warning',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/**
 * A sixteenth of the machine, or of what this process may have of it: the rest is for us and for the system's own
 * cache.
 */
export function sharedBuffers(total: number): string {
  const megabytes = Math.round(total / 16 / 2 ** 20)
  return `${Math.min(1_024, Math.max(128, megabytes))}MB`
}

/** Where nothing limits the process, some systems answer 0 and others more than there is. */
const availableMemory = (): number => Math.min(process.constrainedMemory() || Infinity, totalmem())

export function serverArguments(options: {
  cluster: string
  socketFolder: string
  settings: Record<string, string>
}): string[] {
  const settings = {
    ...SETTINGS,
    shared_buffers: sharedBuffers(availableMemory()),
    // A list of quoted names: unquoted, a comma in the path would split it.
    unix_socket_directories: `"${options.socketFolder.replaceAll('"', '""')}"`,
    ...options.settings,
  }
  return ['-D', options.cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
