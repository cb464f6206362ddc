import assert from 'node:assert/strict'
import test from 'node:test'
import { extractFromText } from './extract-reply.ts'

const fromText = (...lines: string[]): string => extractFromText(lines.join('\n')).text

const QUOTE = ['> Shall we meet?', '>', '> Ann']

test('a line with date, time and address above a quote is no text of the author, whatever its language', () => {
  const attributions = [
    'На вт, 3.03.2026 г. в 9:14 Анна Полева <anna@example.com> написа:',
    'uto, 3. ožu 2026. u 09:14 Ana Polje <ana@example.com> napisao je:',
    'Pada tanggal Sel, 3 Mar 2026 pukul 09.14 Ana <ana@example.com> menulis:',
    'ในวันที่ อ. 3 มี.ค. 2026 เวลา 09:14 Ann <ann@example.com> เขียนว่า:',
    'Missatge de Anna Camp <anna@example.com> del dia dt., 3 de març 2026 a les 9:14:',
    '‫בתאריך יום ג׳, 3 במרץ 2026 ב-9:14 מאת ‪Ann‬‏ <‪ann@example.com‬‏>:‬',
    'Scríobh Ann Field <ann@example.com> Dé Máirt 3 Márta 2026 ag 09:14 mar seo:',
    '* Ann Field <ann@example.com> [2026-03-03 09:14:22 +0100]:',
    '---- On Tue, 03 Mar 2026 09:14:22 +0100 Ann Field <ann@example.com> wrote ----',
    '2026/3/3 Ann Field <ann@example.com>',
    'Quoting Ann Field <ann@example.com>:',
    'Zitat von Ann Feld <ann@example.com>:',
  ]
  for (const line of attributions) {
    assert.equal(fromText('That works.', '', line, '', ...QUOTE), 'That works.', line)
    assert.equal(fromText(line, ...QUOTE, '', 'That works.'), 'That works.', line)
  }
})

test('without a quote below it such a line is kept', () => {
  const line = 'The minutes of 3.3.2026, 9:14, that I had from Ann <ann@example.com> are short:'
  assert.equal(fromText(line, 'we agreed.'), `${line}\nwe agreed.`)
})

test('the header of a quoted message is known in further languages', () => {
  const headers = [
    ['Kimden: Ann <ann@example.com>', 'Gönderildi: 3 Mart 2026 Salı 09:14', 'Kime: Bob', 'Konu: Cuma'],
    ['Od: Ann <ann@example.com>', 'Odesláno: úterý 3. března 2026 9:14', 'Komu: Bob', 'Předmět: Pátek'],
    ['Od: Ann <ann@example.com>', 'Odoslané: utorok 3. marca 2026 9:14', 'Komu: Bob', 'Predmet: Piatok'],
    ['Feladó: Ann <ann@example.com>', 'Elküldve: 2026. március 3., kedd 9:14', 'Címzett: Bob', 'Tárgy: Péntek'],
    ['De la: Ann <ann@example.com>', 'Trimis: marți, 3 martie 2026 09:14', 'Către: Bob', 'Subiect: Vineri'],
    ['Από: Ann <ann@example.com>', 'Στάλθηκε: Τρίτη, 3 Μαρτίου 2026 9:14', 'Προς: Bob', 'Θέμα: Παρασκευή'],
    ['מאת: Ann <ann@example.com>', 'נשלח: יום שלישי 3 מרץ 2026 9:14', 'אל: Bob', 'נושא: שישי'],
    ['من: Ann <ann@example.com>', 'تم الإرسال: الثلاثاء 3 مارس 2026 9:14', 'إلى: Bob', 'الموضوع: الجمعة'],
  ]
  for (const header of headers) {
    assert.equal(fromText('That works.', '', ...header, '', 'Shall we meet?'), 'That works.', header[0])
  }
})

test('what phones and programs add goes, also with a link inside it', () => {
  const lines = [
    'Outlook für Android<https://aka.ms/ghei36> beziehen',
    'Sent from my 5G Device',
    'Inviato dal mio dispositivo Samsung',
    'Lähetetty iPhonesta',
    'Odesláno z iPhonu',
    "iPhone'umdan gönderildi",
    'Sent from Spark',
  ]
  for (const line of lines) assert.equal(fromText('That works.', '', line), 'That works.', line)
})

test('below such a line the quoted message may begin behind the colon', () => {
  const quoted = '  On Tue, 3 Mar 2026 at 9:14, Ann<ann@example.com> wrote:   Shall we meet?'
  assert.equal(fromText('That works.', '', 'Sent from Yahoo Mail on Android', '', quoted, 'Ann'), 'That works.')
  assert.equal(fromText('I found this.', quoted, 'Is it so?'), `I found this.\n${quoted}\nIs it so?`)
})
