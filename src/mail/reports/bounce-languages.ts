// What refusals and bounces say in other languages than English, as parts of patterns. A letter with an accent is a dot: on
// its way many a server turns it into something else.

/** Phrases of a table between bars or line breaks, as one group. Blanks beside a bar belong to no phrase. */
const group = (table: string): string =>
  `(?:${table
    .split(/[|\n]/)
    .flatMap(phrase => phrase.trim() || [])
    .join('|')})`

/** What else may be unknown or invalid, even in a clause that names the recipient. */
const ELSE = group(`
  grund | fehler | server | serveur | servidor | raison | motivo | signatur | firma | passwor | mot de passe | contrase
  senha | nachricht | причин | ошибк | сервер | парол | подпис | 原因 | 服务器 | 密码 | サーバ | 理由 | パスワード | 서버 | 이유`)
/** Up to the end of the clause. */
const NEARBY = `(?:(?!${ELSE})[^.;。；]){0,40}?`

/** Not the address of a host, nor ours. */
const NOT_OURS = String.raw`(?<!\b(?:ip|ihre|votre|su|tu|seu|sua|uw)[ -]|(?:ваш|ip)[ -]|您的|你的)`

const MAILBOX = group(String.raw`
  ${NOT_OURS}adress?\w{0,3}\b(?! ip) | benutzer | empf(?:.|ae)nger | postfach | konto
  utilisateur | destinataire | bo.te | compte | usuario | destinatario | buz.n | cuenta | ${NOT_OURS}direcci.n(?! ip)
  usu.rio | destinat.rio | caixa postal | \bconta\b
  ${NOT_OURS}endere.o(?! ip) | utente | casella | ${NOT_OURS}indirizzo(?! ip) | account
  gebruiker | ontvanger | geadresseerde | postvak | u.ytkownik | odbiorc | adresat | skrzynk
  anv.ndare | mottagare | bruger | modtager | bruker | mottaker | k.ytt.j. | vastaanottaja | osoite
  u.ivatel | p..jemce | c.mzett | felhaszn.l. | utilizator | destinatar\b | schr.nk | adresa | kullan.c. | al.c.
  пользовател | получател | адресат | ${NOT_OURS}адрес | ящик | користувач | одержувач | χρήστη | παραλήπτη | διεύθυνση
  收件人 | 用户 | 用戶 | 帐号 | 账号 | 帳號 | 邮箱 | 郵箱 | ${NOT_OURS}地址 | 宛先 | 送信先 | アドレス | ユーザ | 受信者 | メールボックス
  수신자 | 사용자 | 받는 ?사람 | 메일 ?주소 | 계정`)

const MISSING = group(String.raw`
  unbekannt | existiert (?:\w{1,10} )?nicht | nicht (?:existiert|vorhanden|gefunden|bekannt) | ung.ltig
  inconnue? | n.existe (?:pas|plus) | introuvable | inexistante? | invalide
  no existe | desconocid | no (?:se )?(?:(?:ha|fue|pudo) )?(?:sido )?encontrad | inexistente | inesistente | inv.lid[oa]
  n.o existe | desconhecid | n.o (?:foi )?encontrad | non esiste
  sconosciut | non (?:. stato )?trovat | non valid | non . presente
  onbekend | bestaat niet | niet (?:gevonden|bekend) | ongeldig | nie istnieje | nieznan | nie znaleziono
  ok.nd | finns inte | existerar inte | hittades inte | ukendt | ukjent | fin(?:d|n)es ikke | eksisterer ikke
  tuntematon | ei ole olemassa | neexistuje | nezn.m | nenalezen | bulunamad
  mevcut de.il | bilinmeyen | ismeretlen | nem l.tezik | nu exist. | necunoscut
  не найден | не существует | неизвест | не зарегистрирован | не знайден
  не існує | невідом | δεν υπάρχει | δεν βρέθηκε | άγνωστ
  不存在 | 未找到 | 找不到 | 无效 | 無效 | 存在しません | 存在しない | 見つかりません | 見つからない(?!か) | 不明 | 無効
  존재하지 | 없는 | 찾을 수 없 | 알 수 없는`)

const SENDER = group(String.raw`
  absender | exp.diteur | remitente | remetente | mittente | afzender | nadawc | avs.ndare | afsender | avsender
  l.hett.j | odes.latel | g.nderen | отправител | відправник | 发件人 | 發件人 | 寄件 | 送信者 | 差出人 | 보낸 | 발신`)

const REJECTED = group(
  'abgelehnt | gesperrt | refus | rechazad | rejeitad | rifiutat | geweigerd | odrzucon | отклон | отверг | 拒',
)

export const ABOUT_SENDER_ABROAD = `${SENDER}[^.;:。；：]{0,40}?(?:${MISSING}|${REJECTED})|${MISSING}[^.;:。；：]{0,20}?${SENDER}`

const SUCH = group(
  'ese | esa | dich[oa] | este | esta | el | la | tal | tak(?:iego|iej) | так(?:ого|ой) | solche[rn]? | simile',
)
const NOBODY = group('no existe | nessuna? | aucune? | keine?n? | geen | nie ma | brak | нет | немає')

/** `Le serveur du destinataire`, `Passwort des Benutzers`. */
const NOT_OF_ELSE = `(?<!${ELSE}[^\\s:]{0,3} (?:[^\\s:]{1,4} )?)`

/** The mailbox or its owner and that it is not there, in either order. */
export const NO_SUCH_USER_ABROAD: readonly string[] = [
  `${NOT_OF_ELSE}${MAILBOX}${NEARBY}${MISSING}(?!\\S{0,4} ?${ELSE})`,
  // `Unbekannter Benutzer`, `onbekende gebruiker`.
  `${MISSING}[^\\s.;:]{0,4} ?(?:la |el |않는 |的)?${MAILBOX}`,
  `${NOBODY} (?:${SUCH} (?:${MAILBOX}|persona|konta)|${MAILBOX} ${SUCH})`,
]

const STORE = group(`
  postfach | mailbox | speicher | bo.te | buz.n | caixa | casella | skrzynk | postbus | postvak | inkorg | brevl.da
  postkasse | ind?n?bakke | innboks | schr.nk | kutusu | ящик | скриньк | 邮箱 | 郵箱 | 信箱 | メールボックス | 受信箱
  메일함 | 사서함 | quota | cuota | kvot`)
const FULL = group(String.raw`
  voll\b | pleine? | satur | llen[oa] | chei[oa] | lotad | pien[oa] | pe.n[aey] | przepe.nion | vol\b | full\b | fuld\b
  t.ynn | pln. | dolu | переполнен | заполнен | повн | 满 | 滿 | いっぱい | 容量 | 超過 | 가득 | 초과 | 부족
  .berschritten | d.pass | superad | excedid | ultrapassad | superat | esaurit | overschreden | przekroczon | превышен`)

export const MAILBOX_FULL_ABROAD = `${STORE}[^.;。；]{0,60}?${FULL}`

export const TOO_LARGE_ABROAD = group(`
  zu gro(?:.|ss)\\b | trop (?:volumineux|gros|grand) | demasiado grande | muito grande | troppo grande | te groot
  za du.[aey] | слишком больш | 过大 | 太大 | 大きすぎ | 너무 큽`)

export const UNWANTED_ABROAD = group(`
  спам | spam-?verdacht | richtlinie | 垃圾 | 迷惑メール
  스팸 | liste noire | schwarzen? liste | lista (?:negra|nera) | ч[её]рн\\S{1,3} спис | 黑名单`)

/** What a mail system says of a message in its subject, or in a sentence. */
export const NOT_DELIVERED_ABROAD: readonly string[] = [
  'unzustellbar|nicht (?:zugestellt|zustellbar|ausgeliefert)|abgewiesen|zustellfehler|konnte[^.\\n]{0,60}nicht erreichen',
  'non[- ](?:remis|distribu|d.livr|livr)|.chec de (?:la )?(?:remise|livraison|distribution)|d.acheminement',
  '(?:n.a pas .t.|(?:pas|pu) (?:pu )?.tre) (?:remis|distribu|d.livr|livr)',
  'no (?:se )?(?:ha |pudo |puede |ha podido )?(?:ser |sido )?entrega|no lleg. a los siguientes',
  '(?:error|fallo|falla) (?:en|de) la entrega',
  'n.o (?:foi |p.de |foi poss.vel )?(?:ser )?entreg|falha na entrega|mensagem devolvida|erro no envio|mensaje devuelto',
  'mancat[ao] (?:consegna|recapito)|non (?:. stato )?(?:recapitat|consegnat|recapitabil)|errore di consegna',
  'impossibile (?:recapitare|consegnare)',
  'niet (?:worden )?(?:bezorgd|afgeleverd|besteld)|onbestelba(?:ar|re)',
  'nie zosta.a dostarczona|niedostarcz|nie mog.a zosta. dostarczona|nie uda.o si. dostarczy|nie dostarczono|zwrot wiadomo',
  'kunde inte levereras|kunne ikke lever|ikke leveret|ikke levert|ei voitu toimittaa|toimitus ep.onnistui',
  'nebyla doru.ena|nepoda.ilo (?:se )?doru.it|nedoru.iteln|teslim edilemed|iletilemed|k.zbes.thetetlen|nem k.zbes.thet',
  'nu a putut fi livrat|αποτυχία παράδοσης|δεν παραδόθηκε',
  'не ?доставлен|не может быть (?:доставлен|отправлен)|не удалось доставить|не вдалося доставити',
  '退信|(?:无法|無法|未能)(?:送达|送達|投递|投遞|传递|傳遞|发送|傳送)|(?:投递|发送|傳送)失败|被退回',
  '配信不能|(?:配信|送信|配送)(?:が)?でき|(?:配信|送信)(?:されません|エラー|失敗)|お届けでき|エラーのため',
  '(?:전송|발송|배달) ?실패|반송|전송하지 못|발송되지 않',
]

/** In the subject of a warning. */
export const DELAYED_ABROAD =
  'verz.gert|\\bretard|retrasad|atrasad|in ritardo|vertraagd|op..nion|задерж|延迟|延遲|遅延|지연'

/** How the answer of a mailbox begins its subject. */
export const AUTOMATIC_ANSWER_ABROAD = group(`
  automatische (?:antwort|reactie|beantwoording) | abwesen | absen[ct] | r.ponse automatique | fuera de | respuesta autom
  resposta autom | fora do | risposta automatica | fuori (?:ufficio|sede) | afwezig | automatyczna odpowied | nieobecn
  automatisk[at]? svar | autosvar | fr.nvaro | frav.r | automaattinen | automatick. odpov | otomatik yan
  автоответ | автоматический ответ | 自动回复 | 自動回覆 | 自動返信 | 自動応答 | 不在 | 자동 ?(?:회신|응답|답장)`)
