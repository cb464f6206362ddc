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
  const inOrder = [...Map.groupBy(items, ownerOf).values()].flatMap(own => rotate(own, now))
  return takeFairly(inOrder, ownerOf, share)
}

interface Weighed<Item> {
  ownerOf: (item: Item) => string
  weightOf: (item: Item) => number
}

/**
 * Rotated as well, for items that weigh more or less. Owners with little go first and leave what they do not need to the
 * others. Each owner gets one item at least, whatever it weighs: otherwise a heavy one would never have its turn.
 */
export function takeWeighed<Item>(
  items: readonly Item[],
  { ownerOf, weightOf }: Weighed<Item>,
  { max, perOwnerMax, now }: { max: number; perOwnerMax: number; now: Date },
): { taken: Item[]; left: Item[] } {
  const owners = [...Map.groupBy(items, ownerOf).values()]
    .map(own => ({ own, weight: own.reduce((sum, item) => sum + weightOf(item), 0) }))
    .toSorted((one, other) => one.weight - other.weight)
  const [taken, left]: [Item[], Item[]] = [[], []]
  let budget = max
  for (const [index, { own }] of owners.entries()) {
    const share = Math.min(perOwnerMax, budget / (owners.length - index))
    let used = 0
    for (const item of rotate(own, now)) {
      const isWithin = used === 0 || used + weightOf(item) <= share
      if (isWithin) taken.push(item)
      else left.push(item)
      // The first that is too much ends it: lighter ones that follow would otherwise have more turns than others.
      used = isWithin ? used + weightOf(item) : Infinity
    }
    budget = Math.max(0, budget - Math.min(used, share))
  }
  return { taken, left }
}

function rotate<Item>(own: readonly Item[], now: Date): Item[] {
  const offset = (Math.floor(now.getTime() / PASS_MS) * GOLDEN_RATIO) % 1
  const start = Math.floor(offset * own.length)
  return [...own.slice(start), ...own.slice(0, start)]
}
