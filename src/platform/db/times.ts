// Times: a row has them as `Date`, the API shows them as text (RFC 3339).

/** A row of what the API shows, where these fields are its times. */
export type RowOf<Shown, Times extends keyof Shown> = Omit<Shown, Times> & {
  [Field in Times]: Date | Extract<Shown[Field], null>
}

type Text<Value> = Value extends Date ? string : Value

/** The row with its times as text. */
export function withTimesAsText<Row extends object>(row: Row): { [Field in keyof Row]: Text<Row[Field]> } {
  const shown = { ...row } as Record<string, unknown>
  for (const field in shown) {
    const value = shown[field]
    if (value instanceof Date) shown[field] = value.toISOString()
  }
  return shown as { [Field in keyof Row]: Text<Row[Field]> }
}
