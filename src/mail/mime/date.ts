// The Date field (RFC 5322 §3.3 and §4.3), with what clients make of it: no weekday, no seconds, two digits of a year, the
// form of C's asctime, or that of ISO 8601. What is no date of the calendar is none.

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const VALUE_CHARS_MAX = 200

const WEEKDAY = String.raw`(?:[A-Za-z]+\.?,?\s*)?`
const MONTH = String.raw`(?<month>[A-Za-z]{3})[a-z]*\.?`
const SECONDS = String.raw`(?:[:.](?<second>\d{1,2})(?:[.,]\d+)?)?(?:\s*(?<half>[AaPp])\.?[Mm]\.?)?`
const CLOCK = String.raw`(?<hour>\d{1,2})[:.](?<minute>\d{1,2})${SECONDS}`
const ZONE = String.raw`(?:\s*(?<zone>(?:GMT|UTC?)?[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]{1,5})\b.*)?`
const FORMS = [
  // Mon, 16 Nov 2026 10:00:00 +0200
  String.raw`${WEEKDAY}(?<day>\d{1,2})[\s-]+${MONTH},?[\s-]+(?<year>\d{2,4}),?\s+${CLOCK}${ZONE}`,
  // Mon Nov 16 10:00:00 EST 2026
  String.raw`${WEEKDAY}${MONTH}\s+(?<day>\d{1,2}),?\s+${CLOCK}(?:\s+(?<zone>[A-Z]{1,5}|[+-]\d{4}))?\s+(?<year>\d{4})`,
  // Mon Nov 16 2026 10:00:00 GMT+0200
  String.raw`${WEEKDAY}${MONTH}\s+(?<day>\d{1,2}),?\s+(?<year>\d{4}),?\s+${CLOCK}${ZONE}`,
  // 2026-11-16T10:00:00+02:00
  String.raw`(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})[T ]${CLOCK}${ZONE}`,
].map(form => new RegExp(`^${form}$`))

export function readDate(value: string | null): Date | null {
  const text = withoutComments((value ?? '').slice(0, VALUE_CHARS_MAX))
  const found = FORMS.map(form => form.exec(text)).find(match => match !== null)?.groups
  if (!found) return null
  const { year, month, day, hour, minute, second, half, zone } = found as Record<string, string | undefined>
  const monthIndex = /^\d/.test(month!) ? Number(month) - 1 : MONTHS.indexOf(month!.toLowerCase())
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0)
  const minutes = Number(minute)
  // A leap second is taken for the one before it.
  const seconds = Math.min(59, Number(second ?? 0))
  if (monthIndex < 0 || hours > 23 || minutes > 59 || Number(second ?? 0) > 60) return null
  const local = new Date(0)
  local.setUTCFullYear(fullYear(year!), monthIndex, Number(day))
  // 31 February would be a day in March.
  if (local.getUTCMonth() !== monthIndex || local.getUTCDate() !== Number(day)) return null
  local.setUTCHours(hours, minutes, seconds)
  const date = new Date(local.getTime() - offsetMinutes(zone) * 60_000)
  // Databases and other programs stumble over other years.
  return date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9_999 ? date : null
}

/** They may stand within each other. */
function withoutComments(text: string): string {
  const without = text.replaceAll(/\([^()]*\)/g, ' ')
  return without === text ? text.trim() : withoutComments(without)
}

/** RFC 5322 §4.3. */
function fullYear(digits: string): number {
  const year = Number(digits)
  if (digits.length === 4) return year
  return digits.length === 2 && year < 50 ? 2_000 + year : 1_900 + year
}

/** Hours from UTC of the zones that the standard names; others, of one letter too, say nothing and count as UTC. */
const ZONES: Record<string, number> = { EDT: -4, EST: -5, CDT: -5, CST: -6, MDT: -6, MST: -7, PDT: -7, PST: -8 }

function offsetMinutes(zone: string | undefined): number {
  const digits = /([+-])(\d{1,2}?)(?::?(\d{2}))?$/.exec(zone ?? '')
  if (!digits) return (ZONES[zone?.toUpperCase() ?? ''] ?? 0) * 60
  const minutes = Number(digits[2]) * 60 + Number(digits[3] ?? 0)
  return digits[1] === '-' ? -minutes : minutes
}
