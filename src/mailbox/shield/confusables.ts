// Characters that look like Latin letters. A word that mixes scripts is read as the Latin word it imitates, and so is a name.

/** Each Latin letter with those that imitate it, from the confusables of Unicode (UTS 39) that fonts hardly tell apart. */
const TWINS: Record<string, string> = {
  a: 'аαɑ',
  b: 'ьƅᖯ',
  c: 'сϲᴄ',
  d: 'ԁɗᑯ',
  e: 'еҽєɛ',
  f: 'ƒք',
  g: 'ɡց',
  h: 'һհ',
  i: 'іıίιɩӏ',
  j: 'јϳ',
  k: 'кκᴋ',
  l: 'ⅼ׀ǀ',
  m: 'мᴍ',
  n: 'ոпη',
  o: 'оοօσ',
  p: 'рρ',
  q: 'ԛզ',
  r: 'гᴦг',
  s: 'ѕꜱ',
  t: 'тτᴛ',
  u: 'υսᴜ',
  v: 'ѵνᴠ',
  w: 'ԝѡɯω',
  x: 'хχ',
  y: 'уγү',
  z: 'ᴢ',
}

export const LATIN_TWIN: ReadonlyMap<string, string> = new Map(
  Object.entries(TWINS).flatMap(([letter, twins]) => Array.from(twins, twin => [twin, letter] as const)),
)

/** How a name looks at a glance: twins, digits and pairs of letters as what they are taken for. Lower case comes in. */
export function skeleton(name: string): string {
  let plain = ''
  for (const char of name.normalize('NFKC')) plain += LATIN_TWIN.get(char) ?? char
  return plain
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('cl', 'd')
    .replaceAll('0', 'o')
    .replaceAll(/[1i|]/g, 'l')
    .replaceAll('5', 's')
}
