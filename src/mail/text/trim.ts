// Trims a set of characters. Not by an expression that ends in `+$`: that begins anew at each character of a run that is not
// at the end, and a header line of a megabyte of blanks would keep the thread for half an hour.

/** Without those of the characters that stand at its end. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** Without those of the characters that stand at either end. */
export function trimOf(text: string, characters: string): string {
  let start = 0
  while (start < text.length && characters.includes(text[start]!)) start++
  return trimEndOf(text.slice(start), characters)
}
