// What a pass looks at goes to the database in pieces: that bounds what a statement is sent and how long it takes.

const ITEMS_MAX = 5_000

export function* chunksOf<Item>(items: readonly Item[], max: number = ITEMS_MAX): Generator<Item[]> {
  for (let start = 0; start < items.length; start += max) yield items.slice(start, start + max)
}
