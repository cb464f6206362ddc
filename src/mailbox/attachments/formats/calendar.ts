// What a person reads in an iCalendar file (RFC 5545): the summary, the place, the description, who takes part, and when.

const SHOWN = /^(SUMMARY|LOCATION|DESCRIPTION|COMMENT|CATEGORIES|CONTACT|ORGANIZER|ATTENDEE|DTSTART|DTEND|DUE|URL)$/
const PEOPLE = /^(ORGANIZER|ATTENDEE)$/

export function calendarText(file: string): string {
  // A line that begins with a blank continues the one before (§3.1).
  const lines = file.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
  return lines.map(shown).filter(Boolean).join('\n')
}

function shown(line: string): string {
  const colon = endOfParameters(line)
  if (colon === -1) return ''
  const [name = '', ...parameters] = line.slice(0, colon).split(';')
  if (!SHOWN.test(name.toUpperCase())) return ''
  const value = unescape(line.slice(colon + 1))
  if (PEOPLE.test(name.toUpperCase())) {
    const commonName = parameters
      .find(parameter => /^CN=/i.test(parameter))
      ?.slice(3)
      .replaceAll('"', '')
    return [commonName, value.replace(/^mailto:/i, '')].filter(Boolean).join(' ')
  }
  return /^(DT|DUE)/i.test(name) ? readableTime(value) : value
}

/** The first colon outside quotation marks. */
function endOfParameters(line: string): number {
  let isQuoted = false
  for (let at = 0; at < line.length; at++) {
    const character = line[at]
    if (character === '"') isQuoted = !isQuoted
    else if (character === ':' && !isQuoted) return at
  }
  return -1
}

const unescape = (value: string): string =>
  value.replace(/\\([\\;,nN])/g, (_, character: string) => (/n/i.test(character) ? '\n' : character))

/** `20261116T093000Z` as `2026-11-16 09:30`. */
const readableTime = (value: string): string =>
  value.replace(/^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\dZ?)?$/, (_, year, month, day, hour, minute) =>
    hour ? `${year}-${month}-${day} ${hour}:${minute}` : `${year}-${month}-${day}`,
  )
