import assert from 'node:assert/strict'
import test from 'node:test'
import { classifyReply } from './bounce-classes.ts'
import { classifyDsn } from './dsn.ts'
import { plain, reportsIn } from './dsn.fixture.ts'
import { parseReply } from './smtp-reply.ts'

/** A subject, and the reason below it. */
const NOTICES: Record<'hard' | 'soft', [subject: string, ...body: string[]][]> = {
  hard: [
    ['Unzustellbar', 'Die eingegebene E-Mail-Adresse wurde nicht gefunden.'],
    ['Ihre Mail', 'Ihre Mail konnte nicht zugestellt werden: unbekannter Benutzer'],
    ['Avis', "Le message n'a pas pu être remis.", 'Le compte du destinataire est introuvable.'],
    ['Zustellfehler', 'Der Benutzer existiert hier nicht.'],
    ['Mensaje devuelto', 'Destinatario desconocido'],
    ['Mesajul nu a putut fi livrat', 'Utilizatorul nu există.'],
    ['Αποτυχία παράδοσης', 'Ο χρήστης δεν υπάρχει.'],
    ['Kézbesíthetetlen levél', 'A címzett ismeretlen.'],
    ['No se pudo entregar el mensaje', 'El usuario no existe.'],
    ['Falha na entrega', 'Motivo: o endereço não foi encontrado'],
    ['Message non remis', "L'adresse de la personne que vous avez nommée n'existe pas."],
    ['Mancata consegna', 'Indirizzo inesistente'],
    ['Bericht onbestelbaar', 'De gebruiker bestaat niet.'],
    ['Niedostarczona poczta', 'Adresat nie istnieje'],
    ['Meddelandet kunde inte levereras', 'Okänd mottagare: användaren finns inte'],
    ['Zprávu se nepodařilo doručit', 'Uživatel neexistuje.'],
    ['İleti teslim edilemedi', 'Kullanıcı bulunamadı.'],
    ['Письмо не доставлено', 'Получатель не найден.'],
    ['退信通知', '收件人不存在'],
    ['配信エラー', '宛先のアドレスが見つかりません。'],
    ['메일 전송 실패', '존재하지 않는 사용자입니다.'],
  ],
  soft: [
    ['Unzustellbar', 'Das Postfach von Jane ist voll.'],
    ['Non remis', 'La boîte aux lettres de Jane est pleine.'],
    ['Mensaje no entregado', 'El buzón está lleno.'],
    ['Mensagem não entregue', 'A caixa postal está cheia.'],
    ['Mancata consegna', 'La casella di Jane è piena.'],
    ['Bericht niet bezorgd', 'De mailbox van Jane is vol.'],
    ['Niedostarczona poczta', 'Skrzynka Jane jest pełna.'],
    ['Письмо не доставлено', 'Почтовый ящик переполнен.'],
    ['退信通知', '对方邮箱已满'],
    ['配信エラー', 'メールボックスの容量を超えました。'],
    ['Non remis', 'Le message est trop volumineux.'],
    // What might have been the reason is none.
    ['配信エラー', 'アドレスが見つからないか、サーバが応答しません。'],
  ],
}

test('a bounce in another language says whether the mailbox is gone or full', async () => {
  for (const [expected, notices] of Object.entries(NOTICES)) {
    for (const [subject, ...body] of notices) {
      const reports = await reportsIn(plain(encoded(subject), ...body))
      assert.deepEqual(
        reports.map(report => classifyDsn(report).class),
        [expected],
        `${subject}: ${body.join(' ')}`,
      )
    }
  }
})

const encoded = (subject: string): string => `=?utf-8?B?${Buffer.from(subject).toString('base64')}?=`

test('what is said of the sender, of a host or of an error in another language suppresses nobody', () => {
  const replies = [
    'Absender unbekannt',
    'Die Adresse des Absenders existiert nicht',
    'Ihre Adresse ist hier nicht bekannt',
    'IP-Adresse unbekannt',
    'Unbekannter Fehler beim Empfänger',
    "L'adresse de l'expéditeur n'existe pas",
    'El destinatario no admite remitentes desconocidos',
    'Ваш адрес не найден в списке',
    '发件人地址不存在',
    'Zustellung an den Empfänger aus unbekanntem Grund gescheitert',
    'Der Empfänger nimmt nichts von unbekannten Servern an',
    'Passwort des Benutzers ungültig',
    'Le serveur du destinataire est introuvable pour le moment',
    'Dirección IP no encontrada',
    'доставка получателю: причина неизвестна',
    '投递到收件人失败，原因不明',
    '宛先サーバの応答が不明です',
  ]
  for (const text of replies) assert.notEqual(classifyReply(parseReply(`550 ${text}`)).class, 'hard', text)
})

test('an automatic answer of a mailbox is no bounce in any language', async () => {
  for (const subject of [
    'Automatische Antwort: Hallo',
    'Resposta automática: Olá',
    'Автоответ: Привет',
    '自動返信: こんにちは',
  ])
    assert.deepEqual(
      await reportsIn(plain(encoded(subject), 'Adresse unbekannt verzogen, nicht zugestellt')),
      [],
      subject,
    )
})
