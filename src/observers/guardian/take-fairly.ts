// A share of a pass for each account: who has much to look at gets what the others leave, and the rest at the next pass. Pure.

interface Taken<Item> {
  taken: Item[]
  /** Owners of what was left out. */
  cut: Set<string>
}

/** One of each owner, then another of each, until there are enough; each owner's own in their order. */
export function takeFairly<Item>(
  items: readonly Item[],
  ownerOf: (item: Item) => string,
  { max, perOwnerMax = Infinity }: { max: number; perOwnerMax?: number },
): Taken<Item> {
  const queues = [...Map.groupBy(items, ownerOf)]
  const taken: Item[] = []
  const cut = new Set<string>()
  let open = queues
  for (let round = 0; open.length > 0; round++) {
    const next: typeof open = []
    for (const [owner, own] of open) {
      if (round >= perOwnerMax || taken.length >= max) {
        cut.add(owner)
        continue
      }
      taken.push(own[round]!)
      if (round + 1 < own.length) next.push([owner, own])
    }
    open = next
  }
  return { taken, cut }
}
