// The words by which mail clients introduce what they quote, in the languages that they are used in: the line above a quote,
// the header of a quoted message, the line that parts it from the answer, and what phones put under a mail.

/** Phrases of a table, one after the other between bars or line breaks. They are parts of patterns. */
const phrases = (table: string): string[] => table.split(/[|\n]/).flatMap(phrase => phrase.trim() || [])

/** "wrote" as it stands in such a line, whatever its place in the sentence. */
const WROTE = phrases(`
  wrote | writes
  schrieb | schreibt | geschrieben
  a écrit | écrit | a ecrit
  escribió | escribio | ha escrito
  ha scritto | scrive | scritto
  escreveu | escreve
  schreef | geschreven
  napisał | napisała | napisał\\(a\\) | pisze
  написал | написала | написал\\(а\\) | пишет | написав | пише
  skrev | skriver | kirjoitti | napsal | napsala | napísal | napísal\\(a\\) | írta | έγραψε | yazdı | a scris | viết
  написа | написао је | napisao je | napisala je | je napisal | va escriure | kirjutas | rašė | menulis | כתב | כתבה | كتب
`)
/** Chinese, Japanese and Korean put no blanks between words. */
const WROTE_UNSPACED = phrases('写道 | 寫道 | 写到 | 撰写 | 書きました | のメール | 작성 | เขียนว่า')

/** With a word boundary of its own: the engine's knows ASCII only. */
export const WROTE_PATTERN = new RegExp(
  `(?:^|[\\s,>"'*_\\])])(?:${WROTE.join('|')})(?=$|[\\s:,："<*_])|${WROTE_UNSPACED.join('|')}`,
  'iu',
)

/** The verb or the author's name and address right before the colon: hardly a sentence of somebody's own. */
export const CLOSING_PATTERN = new RegExp(
  `(?:[\\s,>"'*_\\])](?:${WROTE.join('|')})|${WROTE_UNSPACED.join('|')}|[>)"\\]])[\\s*_\u00a0]{0,4}[:：][\\s*_]{0,4}$`,
  'iu',
)

const OPENINGS = phrases(`
  on | at | am | um | le | el | il | em | no dia | op | w dniu | dnia | den | på | в | во | il giorno | a | ao
  from | von | de | da | van | od | от
`)

/** How such a line begins: "On", "Am", "Le", a weekday, a date, a name with its address. */
export const OPENING_PATTERN = new RegExp(
  `^[\\s*_>-]*(?:(?:${OPENINGS.join('|')})[\\s,]|在|于|於|\\d|"|'|<|\\[|[\\p{L}\\p{M}.'-]{1,30}[,.]?\\s)`,
  'iu',
)

/** A date or a time of day. */
export const DATE_PATTERN =
  /\b\d{1,2}[:.h]\d{2}\b|\b\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b|\b(?:19|20)\d\d\b|\d{1,4}\s?[年月]/u
export const TIME_PATTERN = /\b\d{1,2}[:.h]\d{2}\b|\b\d{1,2}\s?[ap]\.?m\b|[上下]午|\d\s?時|\d\s?时/iu
export const ADDRESS_PATTERN = /[^\s@<>"']{1,64}@[\w.-]{1,253}/u
/** A name's address and the colon, at the end. */
export const AUTHOR_LAST_PATTERN = /<[^\s<>@]{1,64}@[^\s<>@]{1,253}>\s{0,3}[:：]\s{0,3}$/u

/** Horde's, with the author behind it. */
export const QUOTING_PATTERN =
  /^\s{0,3}(?:quoting|zitat von|citando(?: a)?|цитирую)\s[^<>:]{0,80}<[^\s<>@]{1,64}@[^\s<>@]{1,253}>\s?:\s{0,3}$/iu

type HeaderKind = 'from' | 'date' | 'to' | 'cc' | 'subject' | 'other'

const HEADER_NAMES: Record<HeaderKind, string> = {
  from: `from | von | de | da | van | od | от | від | från | fra | lähettäjä | gönderen | kimden
    feladó | de la | από | מאת | من
    expéditeur | remitente | mittente | afzender | nadawca | отправитель | absender | remetente
    差出人 | 送信者 | 发件人 | 發件人 | 寄件者 | 寄件人 | 보낸사람 | 보낸 사람`,
  date: `sent | date | gesendet | datum | envoyé | fecha | enviado | enviado el | data | inviato | enviada em | enviado em
    verzonden | wysłano | дата | отправлено | надіслано | skickat | sendt | lähetetty | gönderildi
    odesláno | odoslané | elküldve | trimis | στάλθηκε | ημερομηνία | נשלח | تاريخ | تم الإرسال | dátum | tarih
    送信日時 | 日時 | 日付 | 发送时间 | 發送時間 | 寄件日期 | 日期 | 時間 | 时间 | 보낸날짜 | 보낸 날짜`,
  to: `to | an | à | a | para | per | aan | do | кому | till | til | vastaanottaja | kime | destinataire | destinatario
    komu | címzett | către | προς | אל | إلى
    宛先 | 收件人 | 收件者 | 받는사람 | 받는 사람`,
  cc: 'cc | kopie | copie | cópia | копия | kopia | kopi | kópia | bilgi | κοιν | עותק | نسخة | dw | 抄送 | 副本',
  subject: `subject | betreff | objet | sujet | asunto | oggetto | assunto | onderwerp
    temat | тема | ämne | emne | aihe | konu | předmět | predmet | tárgy | subiect | θέμα | נושא | الموضوع
    件名 | 主题 | 主旨 | 主題 | 제목`,
  other: `reply-to | antwort an | répondre à | responder a | risposta | rispondi a | odpowiedź do | message-id | importance
    wichtigkeit | priority | organization | bcc | attachments | anlagen`,
}

const KIND_OF = new Map(
  (Object.entries(HEADER_NAMES) as [HeaderKind, string][]).flatMap(([kind, names]) =>
    phrases(names).map(name => [name, kind] as const),
  ),
)

/** Of which kind the line is, when it is a field of a quoted header. */
export function headerKindOf(line: string): HeaderKind | null {
  if (!line.includes(':') && !line.includes('：')) return null
  const name = /^[\s*_|>]{0,10}([\p{L} -]{1,25}?)[\s\u00a0*_]{0,4}[:：]/u.exec(line)?.[1]
  return (name && KIND_OF.get(name.trim().toLowerCase())) || null
}

/** "Original Message" and "Forwarded message" between dashes. */
const ORIGINALS = phrases(`
  original message | original mail | original e-mail | original appointment | forwarded message | reply message
  ursprüngliche nachricht | originalnachricht | original-nachricht | original nachricht | weitergeleitete nachricht
  message d['’]origine | message original | message transféré | message transfere | message réexpédié
  mensaje original | mensaje reenviado | messaggio originale | messaggio inoltrato
  mensagem original | mensagem encaminhada | mensagem reencaminhada
  oorspronkelijke? bericht | doorgestuurd bericht
  wiadomość oryginalna | oryginalna wiadomość | wiadomość przekazana | przekazana wiadomość | treść przekazanej wiadomości
  исходное сообщение | исходное письмо | оригинальное сообщение | пересылаемое сообщение | пересылаемое письмо
  пересланное сообщение | ursprungligt meddelande | oprindelig meddelelse | opprinnelig melding | alkuperäinen viesti
  元のメッセージ | 転送されたメッセージ | 転送メッセージ | 원본 메시지
  原始邮件 | 原始郵件 | 原邮件 | 回复的原邮件 | 转发的邮件 | 转发邮件 | 转发的消息 | 轉寄郵件
`)
const ORIGINAL_PATTERN = new RegExp(`^(?:${ORIGINALS.join('|')})$`, 'iu')
const RULE_CHARS = new Set(' \t*_>=—–-:')

/** Whether the line parts a message from what is quoted below it. */
export function isOriginalRule(line: string): boolean {
  if (!/^[\s*_>]{0,8}[-_=—–*]{2}/u.test(line)) return false
  let start = 0
  let end = line.length
  while (start < end && RULE_CHARS.has(line[start]!)) start++
  while (end > start && RULE_CHARS.has(line[end - 1]!)) end--
  return ORIGINAL_PATTERN.test(line.slice(start, end))
}

const FORWARDS = phrases(`
  begin forwarded message | anfang der weitergeleiteten (?:nachricht ?|e-mail)+ | inicio del mensaje reenviado
  début du (?:message|courriel|e-mail) (?:transféré|réexpédié) | inizio messaggio inoltrato | begin doorgestuurd bericht
  início da mensagem (?:reencaminhada|encaminhada) | początek przekazywanej wiadomości
  начало (?:переадресованного|пересылаемого) сообщения | 転送されたメッセージ | 下面是被转发的邮件 | 开始转发的邮件 | 開始轉寄訊息
`)

/** Apple's line above a mail that is passed on. */
export const FORWARDED_PATTERN = new RegExp(`^[\\s*_]{0,8}(?:${FORWARDS.join('|')})\\s{0,3}[:：]`, 'iu')

/** What help desks write above their text, so that answers stand above it. */
export const REPLY_ABOVE_PATTERN =
  /^[\s#*=_-]{0,20}(?:please )?(?:(?:type|write|enter|add) )?(?:your )?reply above this line[\s#*=_.-]{0,20}$/iu

/** Under the line of a mailing list's program. */
export const LIST_FOOTER_PATTERN = /\bmailing list\b|\/listinfo\/|\bunsubscribe\b/iu

const DEVICE = `(?:${phrases(`
  iphon | ipad | ipod | android | samsung | galaxy | smartphone | blackberry | huawei | xiaomi | windows | nokia | pixel
  phone | device | tablet | outlook | mail | spark | superhuman`).join('|')})`

const DEVICE_LINES = `
  sent (?:from|via|by|with)\\b.{0,40}D | get outlook for .{0,20}
  (?:von|mit) mein(?:em|er)\\b.{0,40}gesendet | gesendet (?:von|mit|über)\\b.{0,40}D
  diese nachricht wurde von mein.{0,80}gesendet | outlook für .{0,20}(?:beziehen|laden|herunterladen)
  envoyé (?:de|depuis|à partir de)\\b.{0,40}D | (?:télécharger|obtenir) outlook pour .{0,20}
  enviado (?:desde|do|a partir do|de)\\b.{0,40}D | obtener outlook para .{0,20} | obter o outlook para .{0,20}
  inviato da(?:l mio)?\\b.{0,40}D | scarica outlook per .{0,20}
  (?:verstuurd|verzonden) (?:vanaf|vanuit|via|met)\\b.{0,40}D | outlook voor .{0,20} downloaden
  wysłan[eoy] z\\b.{0,40}D | pobierz outlook .{0,20}
  отправлено (?:с|из) .{0,40}D | скачать outlook .{0,20}
  .{0,20}から送信 | outlook for .{0,20}を入手
  发自.{0,20}D | 發自.{0,20}D | 從我的.{0,20}(?:傳送|發送) | 从我的.{0,20}发送 | 获取 outlook .{0,20}
  나의 .{0,20}에서 보냄 | skickat från .{0,40}D | sendt fra .{0,40}D
  lähetetty .{0,40}D | odesl[aá]no z .{0,40}D | odoslané z .{0,40}D | trimis de pe .{0,40}D | .{0,20}iphon.{0,12} gönderildi
  στάλθηκε από .{0,40}D | נשלח מ.{0,20}D | .{0,5}رسل.{0,3} من .{0,20}D`

/** What phones add. It must be the whole line, or nearly: people speak of their phones too. */
export const DEVICE_PATTERN = new RegExp(
  `^[\\s*_[(<]{0,5}(?:${phrases(DEVICE_LINES)
    .map(line => line.replace(/D$/, DEVICE))
    .join('|')})[^\\n]{0,30}$`,
  'iu',
)
