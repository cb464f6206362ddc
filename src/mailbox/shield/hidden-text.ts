// Text that the HTML hides. Marketing mails hide a preview line, and templates hide what another screen shows; both repeat or
// tease. What is long and says other things than the mail is hidden for a reason.
import { finding, shown, type Finding, type InspectedMail } from './finding.ts'
import { findInstructions } from './instructions.ts'
import { normalise, tagText } from './normalise.ts'

/** Preview lines are shown up to about 150 characters; twice that is no preview any more. */
const PREVIEW_CHARS_MAX = 300
/** As much of the hidden words must stand in the visible text to count as its repetition. */
const REPEATED_MIN = 0.5
const WORDS_MAX = 20_000

export function inspectHidden({ hiddenText, unshownText = '', text, htmlText, subject }: InspectedMail): Finding[] {
  const tags = tagText(text) || tagText(htmlText) || tagText(subject)
  const inTags = tags === '' ? [] : [finding('hidden_text', 'text', `characters that nobody sees spell: “${tags}”`)]
  const inHidden = findInstructions(hiddenText, { isHidden: true })
  const instructions = inHidden ?? findInstructions(unshownText, { isHidden: true })
  if (instructions) {
    const seen = `text that readers do not see: “${shown(inHidden ? hiddenText : unshownText, 120)}”`
    return [...inTags, finding('instructions', 'hidden', instructions), finding('hidden_text', 'hidden', seen)]
  }
  // Previews are filled up with blanks of no width, so that nothing of the mail follows them.
  const words = wordsOf(hiddenText)
  const length = words.reduce((sum, word) => sum + word.length + 1, 0)
  if (length <= PREVIEW_CHARS_MAX) return inTags
  const visible = new Set(wordsOf(`${subject} ${text} ${htmlText}`))
  const repeated = words.filter(word => visible.has(word)).length / words.length
  if (repeated >= REPEATED_MIN) return inTags
  const seen = `${length} characters that readers do not see and that say something else: “${shown(hiddenText, 100)}”`
  return [...inTags, finding('hidden_text', 'hidden', seen)]
}

const wordsOf = (text: string): string[] => (normalise(text).match(/[\p{L}\p{N}]{2,}/gu) ?? []).slice(0, WORDS_MAX)
