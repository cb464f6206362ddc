// What a PATCH really changes: only fields that were given and differ. Null when nothing does, so that a repeated PATCH
// writes nothing and leaves no audit entry.

export function changedFields<T extends object>(current: T, patch: Partial<T>) {
  const before: Partial<T> = {}
  const after: Partial<T> = {}
  for (const name of Object.keys(patch) as (keyof T)[]) {
    if (patch[name] === undefined || patch[name] === current[name]) continue
    before[name] = current[name]
    after[name] = patch[name]
  }
  return Object.keys(after).length > 0 ? { before, after } : null
}
