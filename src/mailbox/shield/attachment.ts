// Attachments that run when they are opened: told by name, by declared type and by their first bytes, which need not agree.
// And names that are orders: lists show them to people and agents alike.
import { finding, type Finding, type InspectedAttachment } from './finding.ts'
import { findInstructions } from './instructions.ts'

/** What Windows, macOS or Linux run or mount on a double click. */
const EXECUTABLE = new Set(
  (
    'exe com scr pif bat cmd msi msp msix appx cpl hta jar js jse vbs vbe vb wsf wsh ws ps1 psm1 ps2 psc1 lnk scf inf reg ' +
    'dll sys ocx chm hlp gadget application xll wll iso img vhd vhdx dmg pkg app command sh bash run bin elf deb rpm apk ' +
    'ade adp mde mst sct shb url library-ms settingcontent-ms appref-ms diagcab msc jnlp ace cab'
  ).split(' '),
)
const HARMLESS_LOOK = new Set(
  (
    'pdf doc docx xls xlsx ppt pptx txt rtf csv jpg jpeg png gif bmp tif tiff heic mp3 mp4 mov avi wav zip ' +
    'html htm odt ods eml'
  ).split(' '),
)
const EXECUTABLE_TYPES = new Set(
  (
    'x-msdos-program x-ms-dos-program x-msdownload x-dosexec x-executable x-msi x-sh x-shellscript x-bat x-elf ' +
    'x-sharedlib x-mach-binary x-apple-diskimage x-iso9660-image x-java-archive x-ms-shortcut x-ms-installer ' +
    'vnd.microsoft.portable-executable java-archive hta javascript'
  )
    .split(' ')
    .map(subtype => `application/${subtype}`)
    .concat(['text/javascript', 'text/vbscript', 'text/x-shellscript', 'text/x-msdos-batch']),
)

export function inspectAttachment(attachment: InspectedAttachment): Finding[] {
  const name = attachment.declaredName ?? attachment.filename ?? ''
  const seen = [turnedName(name), byName(name), byType(attachment.contentType), byContent(attachment)].filter(
    each => each !== null,
  )
  const order = findInstructions(name.slice(0, NAME_CHARS_MAX))
  const shownName = (attachment.filename ?? name) || 'unnamed'
  const where = `attachment:${shownName.slice(0, 100)}` as const
  return [
    ...(order === null ? [] : [finding('instructions', where, `its name: ${order}`)]),
    ...(seen.length === 0 ? [] : [finding('dangerous_attachment', where, seen.join('; '))]),
  ]
}

const NAME_CHARS_MAX = 1_000

/** A character that turns the direction of writing shows `annexe.pdf` for `anne\u202efdp.exe`. */
const turnedName = (name: string): string | null =>
  /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/.test(name) ? 'its name turns the direction of writing' : null

function byName(name: string): string | null {
  // Windows drops dots and blanks at the end; a stream or a NUL after the name is dropped too.
  const bare = name
    .normalize('NFKC')
    .toLowerCase()
    .split('\0')[0]!
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')
  const parts = bare.split(/\s*\.\s*/)
  const last = parts.length > 1 ? parts.at(-1)! : ''
  if (!EXECUTABLE.has(last)) return null
  const before = parts.length > 2 ? parts.at(-2)! : ''
  if (HARMLESS_LOOK.has(before)) return `its name pretends to be .${before} and ends in .${last}`
  return `its name ends in .${last}, which runs when it is opened`
}

const byType = (contentType: string): string | null =>
  EXECUTABLE_TYPES.has(contentType.toLowerCase()) ? `its type is ${contentType.toLowerCase()}` : null

/** What programs begin with. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['a Linux program', '\x7fELF'],
  ['a macOS program', '\xfe\xed\xfa\xce'],
  ['a macOS program', '\xfe\xed\xfa\xcf'],
  ['a macOS program', '\xce\xfa\xed\xfe'],
  ['a macOS program', '\xcf\xfa\xed\xfe'],
  ['a Java or macOS program', '\xca\xfe\xba\xbe'],
  ['a Windows shortcut', 'L\0\0\0\x01\x14\x02\0'],
  ['a Windows help file', 'ITSF'],
]

/** The header of a DOS or Windows program has 64 bytes. */
const DOS_HEADER_BYTES = 60
const SCRIPT = /^#! ?\/[^\n]{1,60}\b(?:sh|bash|zsh|python|perl|ruby|node|env)\b/

function programOf(head: string): string | null {
  if (head.startsWith('MZ') && head.length >= DOS_HEADER_BYTES) return 'a Windows program'
  if (SCRIPT.test(head)) return 'a script'
  return MAGIC.find(([, start]) => head.startsWith(start))?.[0] ?? null
}

/** The first bytes do not lie about what runs. An archive shows the name of its first file. */
function byContent({ head, declaredName, filename }: InspectedAttachment): string | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 512)).toString('latin1')
  const program = programOf(text)
  if (program) return `it is ${program}, whatever its name (${(declaredName ?? filename ?? 'none').slice(0, 60)})`
  if (!text.startsWith('PK\x03\x04') || text.length < 30) return null
  const length = text.charCodeAt(26) + 256 * text.charCodeAt(27)
  const inside = byName(text.slice(30, 30 + Math.min(length, 400)))
  return inside && `the first file in the archive: ${inside}`
}
