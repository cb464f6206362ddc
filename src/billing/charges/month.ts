// A month of usage: its first and last UTC day.

export interface Month {
  /** `YYYY-MM` */
  month: string
  first: string
  last: string
}

/** The running one where none is named. */
export function monthOf(named: string | undefined, now: Date): Month {
  const month = named ?? now.toISOString().slice(0, 7)
  const [year, number] = month.split('-').map(Number)
  const end = new Date(0)
  // Day 0 of the next month. Not `Date.UTC`, which takes the years 0 to 99 for those of the last century.
  end.setUTCFullYear(year!, number!, 0)
  return { month, first: `${month}-01`, last: `${month}-${String(end.getUTCDate()).padStart(2, '0')}` }
}
