// A memory with a bound: what was put in last is kept.

/** As the newest. Beyond so many the oldest is forgotten. */
export function remember<Key, Value>(memory: Map<Key, Value>, key: Key, value: Value, max: number): void {
  memory.delete(key)
  memory.set(key, value)
  if (memory.size > max) memory.delete(memory.keys().next().value!)
}
