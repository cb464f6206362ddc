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

const PASS_MS = 10_000
/** Multiples of it, without their whole part, lie evenly between 0 and 1, however many there are. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

/** The same, beginning elsewhere among each owner's own at every pass, so that each item is taken in the end. */
export function takeRotated<Item>(
  items: readonly Item[],
  ownerOf: (item: Item) => string,
  { now, ...share }: { max: number; perOwnerMax: number; now: Date },
): Taken<Item> {
  const offset = (Math.floor(now.getTime() / PASS_MS) * GOLDEN_RATIO) % 1
  const inOrder = [...Map.groupBy(items, ownerOf).values()].flatMap(own => {
    const start = Math.floor(offset * own.length)
    return [...own.slice(start), ...own.slice(0, start)]
  })
  return takeFairly(inOrder, ownerOf, share)
}
