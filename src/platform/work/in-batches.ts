// Work over many rows in bounded batches, each a transaction of its own: nobody waits long for it, and a kill loses
// nothing.

/** Batches until one is not full, or the process is asked to end; answers how much was done in all. */
export async function inBatches(signal: AbortSignal, size: number, batch: () => Promise<number>): Promise<number> {
  let total = 0
  for (let count = size; count >= size && !signal.aborted; total += count) count = await batch()
  return total
}
