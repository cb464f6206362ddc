// Joins patterns into one, so that long lists of wordings can be read and added to line by line.

/** Matches where any of the patterns does, whatever the case. */
export function anyOf(...patterns: (RegExp | string)[]): RegExp {
  return new RegExp(patterns.map(pattern => (typeof pattern === 'string' ? pattern : pattern.source)).join('|'), 'i')
}
