import assert from 'node:assert/strict'
import test from 'node:test'
import { extractFromHtml, extractFromText } from './extract-reply.ts'
import { readHtml } from './html-text.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

const fromText = (...lines: string[]): string => extractFromText(lines.join('\n')).text
const fromHtml = (html: string): string => extractFromHtml(readHtml(html).lines).text.replaceAll(/\s+/g, ' ')

/** The line above a quote, as clients in each language write it, folded where they fold it. */
const ATTRIBUTIONS: Record<string, string[]> = {
  english: [
    'On Tue, Mar 3, 2026 at 9:14 AM Ann Field <ann@example.com> wrote:',
    'On 3 Mar 2026, at 09:14, Ann Field <ann@example.com> wrote:',
    'On 3/3/26 9:14 AM, Ann Field wrote:',
    'On Tuesday, March 3, 2026, 09:14:22 AM GMT+1, Ann Field <ann@example.com> wrote:',
    'On Tue, Mar 3, 2026 at 9:14 AM Ann Field via Some List <\nlist@example.com> wrote:',
    'Ann Field <ann@example.com> wrote:',
  ],
  german: [
    'Am Di., 3. März 2026 um 09:14 Uhr schrieb Ann Feld <ann@example.com>:',
    'Am 03.03.2026 um 09:14 schrieb Ann Feld <ann@example.com>:',
    'Am 03.03.26 um 09:14 schrieb Ann Feld:',
    'Am 3. März 2026 09:14:22 MEZ schrieb Ann Feld <ann@example.com\n>:',
  ],
  french: [
    'Le mar. 3 mars 2026 à 09:14, Anne Champ <anne@example.com> a écrit :',
    'Le 3 mars 2026 à 09:14, Anne Champ <anne@example.com> a\nécrit :',
    'Le 03/03/2026 à 09:14, Anne Champ a écrit\u00a0:',
  ],
  spanish: [
    'El mar, 3 mar 2026 a las 9:14, Ana Campo (<ana@example.com>) escribió:',
    'El 3/3/26 a las 9:14, Ana Campo escribió:',
  ],
  italian: [
    'Il giorno mar 3 mar 2026 alle ore 09:14 Anna Campo <anna@example.com> ha scritto:',
    'Il 03/03/2026 09:14, Anna Campo ha scritto:',
  ],
  portuguese: [
    'Em ter., 3 de mar. de 2026 às 09:14, Ana Campos <ana@example.com> escreveu:',
    'Em 03/03/2026 09:14, Ana Campos escreveu:',
  ],
  dutch: [
    'Op di 3 mrt 2026 om 09:14 schreef Anna Veld <anna@example.com>:',
    'Op 3 mrt. 2026, om 09:14 heeft Anna Veld <anna@example.com> het volgende geschreven:',
  ],
  polish: [
    'wt., 3 mar 2026 o 09:14 Anna Pole <anna@example.com> napisał(a):',
    'W dniu 03.03.2026 o 09:14, Anna Pole pisze:',
  ],
  russian: [
    'вт, 3 мар. 2026 г. в 09:14, Анна Полева <anna@example.com>:',
    'Вторник, 3 марта 2026, 9:14 +03:00 от Анна Полева <anna@example.com>:',
    '3 марта 2026 г., в 09:14, Анна Полева <anna@example.com> написал(а):',
    '03.03.2026 09:14, Анна Полева пишет:',
  ],
  japanese: [
    '2026年3月3日(火) 9:14 野原 安奈 <anna@example.com>:',
    '2026/03/03 9:14、野原 安奈 <anna@example.com>のメール:',
    '2026年3月3日 09:14、野原 <anna@example.com> が書きました：',
  ],
  chinese: [
    'Anna Field <anna@example.com> 于2026年3月3日周二 09:14写道：',
    '在 2026年3月3日，上午9:14，Anna Field <anna@example.com> 写道：',
    '在 2026-03-03 09:14:22，"Anna Field" <anna@example.com> 写道：',
  ],
}

const ANSWER = ['Thanks, that works for me.', '', 'See you on Friday at 10:30.', 'Bob']
const QUOTE = ['> Shall we meet?', '>', '> Friday is fine', '> with me.']

for (const [language, attributions] of Object.entries(ATTRIBUTIONS)) {
  test(`an answer above a quote is read without it: ${language}`, () => {
    for (const attribution of attributions) {
      assert.equal(fromText(...ANSWER, '', attribution, '', ...QUOTE, ''), ANSWER.join('\n'), attribution)
    }
  })

  test(`an answer below a quote is read without it: ${language}`, () => {
    for (const attribution of attributions) {
      assert.equal(fromText(attribution, ...QUOTE, '', ...ANSWER), ANSWER.join('\n'), attribution)
    }
  })
}

/** The header of a quoted message, as Outlook and others write it. */
const HEADERS: Record<string, string[]> = {
  english: ['From: Ann Field <ann@example.com>', 'Sent: Tuesday, March 3, 2026 9:14 AM', 'To: Bob', 'Subject: Friday'],
  german: ['Von: Ann Feld <ann@example.com>', 'Gesendet: Dienstag, 3. März 2026 09:14', 'An: Bob', 'Betreff: Freitag'],
  french: ['De : Anne Champ <anne@example.com>', 'Envoyé : mardi 3 mars 2026 09:14', 'À : Bob', 'Objet : Vendredi'],
  spanish: [
    'De: Ana Campo <ana@example.com>',
    'Enviado el: martes, 3 de marzo de 2026 9:14',
    'Para: Bob',
    'Asunto: Viernes',
  ],
  italian: ['Da: Anna Campo <anna@example.com>', 'Inviato: martedì 3 marzo 2026 09:14', 'A: Bob', 'Oggetto: Venerdì'],
  portuguese: ['De: Ana Campos', 'Enviada em: terça-feira, 3 de março de 2026 09:14', 'Para: Bob', 'Assunto: Sexta'],
  dutch: [
    'Van: Anna Veld <anna@example.com>',
    'Verzonden: dinsdag 3 maart 2026 09:14',
    'Aan: Bob',
    'Onderwerp: Vrijdag',
  ],
  polish: ['Od: Anna Pole <anna@example.com>', 'Wysłano: wtorek, 3 marca 2026 09:14', 'Do: Bob', 'Temat: Piątek'],
  russian: ['От: Анна <anna@example.com>', 'Отправлено: вторник, 3 марта 2026 г. 9:14', 'Кому: Боб', 'Тема: Пятница'],
  japanese: ['差出人: 野原 <anna@example.com>', '送信日時: 2026年3月3日 9:14', '宛先: Bob', '件名: 金曜日'],
  chinese: ['发件人： Anna <anna@example.com>', '发送时间： 2026年3月3日 9:14', '收件人： Bob', '主题： 星期五'],
}

test('an answer above the header of a message is read without both, in every language', () => {
  for (const [language, header] of Object.entries(HEADERS)) {
    assert.equal(fromText(...ANSWER, '', ...header, '', 'Shall we meet?'), ANSWER.join('\n'), language)
    assert.equal(
      fromText(...ANSWER, '', '________________________________', ...header.map(bold), '', 'Shall we meet?'),
      ANSWER.join('\n'),
      `${language}, bold`,
    )
  }
})

const bold = (line: string): string => line.replace(/^([^:：]*[:：])/u, '*$1*')

test('an answer above a parting line is read without what follows', () => {
  const rules = [
    '-----Original Message-----',
    '-------- Ursprüngliche Nachricht --------',
    '-----Message d’origine-----',
    '-----Mensaje original-----',
    '-----Messaggio originale-----',
    '-----Mensagem original-----',
    '-----Oorspronkelijk bericht-----',
    '-----Oryginalna wiadomość-----',
    '-------- Исходное сообщение --------',
    '-----元のメッセージ-----',
    '------------------ 原始邮件 ------------------',
    '---------- Forwarded message ---------',
    '*-------- Original Message --------*',
    'Begin forwarded message:',
    'Anfang der weitergeleiteten Nachricht:',
    'Début du message réexpédié :',
  ]
  for (const rule of rules) {
    assert.equal(fromText(...ANSWER, '', rule, 'Shall we meet?', '', 'Ann'), ANSWER.join('\n'), rule)
  }
})

test('a signature below its mark goes, and what phones add goes too', () => {
  assert.equal(fromText('Hello', '', '-- ', 'Ann Field', '+49 30 1234'), 'Hello')
  assert.equal(fromText('Hello', '-- ', 'Ann Field', '--', 'Field Ltd.'), 'Hello')
  assert.equal(fromText('Hello', '', '--', 'Ann Field', '', ATTRIBUTIONS['english']![0]!, ...QUOTE), 'Hello')
  const phones = [
    'Sent from my iPhone',
    'Sent from Outlook for Android',
    'Get Outlook for iOS<https://aka.ms/o0ukef>',
    'Von meinem iPhone gesendet',
    'Envoyé de mon iPhone',
    'Enviado desde mi iPhone',
    'Inviato da iPhone',
    'Enviado do meu iPhone',
    'Verstuurd vanaf mijn iPhone',
    'Wysłane z iPhone’a',
    'Отправлено с iPhone',
    'iPhoneから送信',
    '发自我的iPhone',
  ]
  for (const line of phones) {
    assert.equal(fromText('Hello', '', line), 'Hello', line)
    assert.equal(fromText('Hello', '', line, '', ATTRIBUTIONS['english']![0]!, ...QUOTE), 'Hello', line)
  }
})

test('the footer of a mailing list and the line of a help desk part new from old', () => {
  const footer = [
    '_'.repeat(47),
    'gardeners mailing list',
    'gardeners@example.org',
    'https://example.org/listinfo/gardeners',
  ]
  assert.equal(fromText('Hello', '', ATTRIBUTIONS['english']![0]!, ...QUOTE, '', ...footer), 'Hello')
  assert.equal(fromText('Hello', '', ...footer), 'Hello')
  assert.equal(fromText('Hello', '', '##- Please type your reply above this line -##', '', 'Your ticket'), 'Hello')
  assert.equal(fromText('Hello', '', '--- On Tue, 3/3/26, Ann <ann@example.com> wrote:', '', 'Shall we meet?'), 'Hello')
})

test('new text is never cut away', () => {
  const whole = (...lines: string[]) => assert.equal(fromText(...lines), lines.join('\n'))
  whole('On 12 May I wrote:', 'please come at ten.')
  whole('He wrote:', 'and so did she.')
  whole('Hello', '', 'On Monday, March 2, 2026 at 9:00, Ann <ann@example.com> wrote this:', 'we are late')
  whole('The address is bob@example.com, and on 3 March 2026 he wrote at 10:30:', '', 'please call')
  whole('Agenda:', 'From: 10:00', 'To: 11:00', 'Subject: budget', 'Date: Monday', '', 'Please confirm')
  whole('In 2015 the author wrote:', '"All is well."', 'What do you think?')
  whole('Please send it', 'From: the warehouse', 'To: the shop')
  whole('Date: Friday', 'Subject: to change', 'I will be there.')
  whole('a --', 'b', '-- not a signature', 'c')
  whole('First', '', '---', '', 'Second part')
  whole('I sent from my iPhone the pictures that you wanted, all of them, and one more')
  whole('> a line that I like', '', 'And why I like it.')
  whole('| a | b |', '|---|---|', '| 1 | 2 |')
  whole('-- ', 'only a signature')
  whole('Hello', '--', ...Array.from({ length: 60 }, (_, n) => `a long text below a rule, line ${n}`))
})

test('answers between quotes keep the quotes that they answer', () => {
  const body = ['> Shall we meet?', '', 'Yes.', '', '> Friday?', '', 'Better on Monday.']
  assert.equal(fromText(ATTRIBUTIONS['english']![0]!, '', ...body), body.join('\n'))
  assert.equal(fromText('See below.', '', ATTRIBUTIONS['english']![0]!, ...body), `See below.\n\n${body.join('\n')}`)
})

test('a mail that only passes something on keeps it', () => {
  const forwarded = ['---------- Forwarded message ---------', ...HEADERS['english']!, '', 'Shall we meet?']
  assert.match(fromText(...forwarded), /Shall we meet\?/)
  assert.match(fromText(...HEADERS['german']!, '', 'Treffen wir uns?'), /Treffen wir uns\?/)
})

const PAGES: Record<string, string> = {
  gmail: `<div dir="ltr">Thanks, that works.<br></div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr"
    class="gmail_attr">Ar Mháirt 3 Márta, scríobh Ann:<br></div><blockquote class="gmail_quote" style="margin:0 0 0 .8ex">Shall we
    meet?</blockquote></div>`,
  gmailForward: `<div dir="ltr">Thanks, that works.<br><br><div class="gmail_quote"><div class="gmail_attr">---------- Ar aghaidh
    ---------<br>Ó: Ann</div>Shall we meet?</div></div>`,
  outlookWeb: `<div>Thanks, that works.</div><div id="appendonsend"></div><hr style="display:inline-block;width:98%">
    <div id="divRplyFwdMsg"><b>Ó:</b> Ann<br><b>Ábhar:</b> Aoine</div><div>Shall we meet?</div>`,
  outlook: `<div class="WordSection1"><p class="MsoNormal">Thanks, that works.</p><div style="border:none;border-top:solid #E1E1E1
    1.0pt;padding:3.0pt 0cm 0cm 0cm"><p class="MsoNormal"><b>Ó:</b> Ann</p></div><p>Shall we meet?</p></div>`,
  outlookPhone: `<div>Thanks, that works.</div><div id="ms-outlook-mobile-signature">Faigh Outlook</div><div
    id="mail-editor-reference-message-container"><hr><b>Ó:</b> Ann<br>Shall we meet?</div>`,
  apple: `<div>Thanks, that works.</div><br><div><blockquote type="cite"><div>On 3 Mar 2026, at 09:14, Ann wrote:</div><br>
    <div>Shall we meet?</div></blockquote></div>`,
  thunderbird: `<p>Thanks, that works.</p><div class="moz-cite-prefix">Scríobh Ann ar 3/3/26:<br></div><blockquote type="cite"
    cite="mid:1@example.com"><p>Shall we meet?</p></blockquote><div class="moz-signature">-- <br>Bob</div>`,
  yahoo: `<div>Thanks, that works.</div><div id="yahoo_quoted_1" class="yahoo_quoted"><div>Scríobh Ann:</div><div>Shall we
    meet?</div></div>`,
  gmx: `<div>Thanks, that works.</div><div name="quote" style="margin:10px 5px 5px 10px"><b>Ó:</b> Ann<br>Shall we meet?</div>`,
  proton: `<div>Thanks, that works.</div><div class="protonmail_signature_block">Sínithe</div><div class="protonmail_quote">Scríobh
    Ann:<br><blockquote class="protonmail_quote" type="cite">Shall we meet?</blockquote></div>`,
  signature: `<div dir="ltr">Thanks, that works.<br>-- <br><div class="gmail_signature" data-smartmail="gmail_signature">Bob<br>+49
    30 1234</div></div>`,
}

test('the marks of a client in HTML are understood whatever its language', () => {
  for (const [client, html] of Object.entries(PAGES)) assert.equal(fromHtml(html), 'Thanks, that works.', client)
})

test('answers inside the quote of an HTML mail are kept', () => {
  const html = `<div class="gmail_quote"><div class="gmail_attr">On Tue, Mar 3, 2026 at 9:14 AM Ann wrote:</div><blockquote
    class="gmail_quote">Shall we meet?</blockquote><div>Yes.</div><blockquote class="gmail_quote">Friday?</blockquote><div>Better on
    Monday.</div></div>`
  const text = fromHtml(html)
  assert.match(text, /Yes\./)
  assert.match(text, /Better on Monday\./)
})

test('what an author indents is no quote', () => {
  assert.equal(fromHtml('<p>The poem:</p><blockquote>Roses are red</blockquote>'), 'The poem: Roses are red')
})

test('a reply that goes on beyond the lines that are searched for marks is never cut there', () => {
  const attribution = 'On Tue, Mar 3, 2026 at 9:14 AM Ann Field <ann@example.com> wrote:'
  const log = Array.from({ length: 12_000 }, (_, n) => `entry ${n}`)
  const quoted = log.map(line => `> ${line}`)
  assert.equal(fromText(attribution, '> Where is the log?', '', 'Here:', ...log), ['Here:', ...log].join('\n'))
  assert.equal(fromText(attribution, ...quoted, '', 'Thanks, that works.'), 'Thanks, that works.')
  const answers = [...quoted, 'Yes.', '> Friday?', 'Better on Monday.']
  assert.equal(fromText('Hi Ann,', attribution, ...answers), ['Hi Ann,', ...answers].join('\n'))
  assert.equal(fromText('Thanks, that works.', '', attribution, ...quoted), 'Thanks, that works.')
})

test('an answer of signs is one, wherever it stands', () => {
  const quoted = ['On Tue, Mar 3, 2026 at 9:14 AM Ann Field <ann@example.com> wrote:', '> Shall we ship on Friday?']
  for (const answer of ['👍', '???', ':-)', '❤️', '+1!']) {
    assert.equal(fromText(...quoted, '', answer), answer)
    assert.equal(fromText('Great news', answer, '', ...quoted), `Great news\n${answer}`)
  }
  for (const rule of ['----', '____', '──────', '\ufffc', '\u2800', '* * *', '////']) {
    assert.equal(fromText('Great news', '', ...quoted, '', rule), 'Great news', rule)
  }
})

test('forty thousand lines of any kind take one pass', () => {
  const lines = [
    'On Tue, Mar 3, 2026 at 9:14 AM Ann Field <ann@example.com> wrote:',
    '> quoted',
    'From: Ann',
    '-- ',
    '* _ '.repeat(120),
    `On ${'a '.repeat(240)}:`,
    '<a@b'.repeat(120),
  ]
  for (const line of lines) {
    const cpuMs = cpuStopwatch()
    extractFromText(`${line}\n`.repeat(40_000))
    extractFromText(`${line}\n> quoted\n`.repeat(20_000) + 'end')
    extractFromText(`${line}\n`.repeat(4_000) + '\n'.repeat(36_000) + 'text\n> quoted\nend')
    const ms = cpuMs()
    assert(ms < 1_200, `${line.slice(0, 20)} took ${ms} ms`)
  }
})
