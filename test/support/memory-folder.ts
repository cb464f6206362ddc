// Where the databases of tests lie: in memory where the machine has a folder for that and it is large enough, as that of a
// container often is not. fsync stays on there, as the service demands, and costs nothing.
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

const MEMORY_FOLDER = '/dev/shm'
/** What the whole run takes, with a margin. */
const BYTES_MIN = 6 * 1024 ** 3

export async function memoryFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY_FOLDER).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= BYTES_MIN ? MEMORY_FOLDER : tmpdir()
}
