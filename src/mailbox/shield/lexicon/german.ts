// German.
import type { Lexicon } from './concept.ts'

export const german: Lexicon = {
  ignore:
    'ignorier*|missacht*|vergiss|vergessen sie|vergesst|uebergeh*|übergeh*|umgeh*|verwirf|verwerfen|überschreib*|' +
    'setze ausser kraft|nicht beachten|beachte nicht|nicht befolgen|befolge nicht|außer acht|ausser acht|' +
    'setz dich hinweg|hebe auf|ausser kraft',
  prior:
    'vorherig*|vorherg*|bisherig*|früher*|frueher*|obig*|vorig*|alle|aller|allen|sämtlich*|saemtlich*|jegliche*|' +
    'deine*|ihre|ihren|ursprünglich*|urspruenglich*|bestehend*|vorangegangen*|vorangehend*|zuvor|system*|' +
    'sicherheits*|gegeben*|erhalten*|alles',
  rules:
    'anweisung*|instruktion*|vorgabe|vorgaben|regel|regeln|richtlinie*|befehl|befehle|befehlen|prompt|prompts|' +
    'einschränkung*|einschraenkung*|beschränkung*|beschraenkung*|anordnung*|sicherheitsregel*|systemprompt|' +
    'sicherheitsvorgabe*|weisung*',
  safety:
    'sicherheitsregel*|sicherheitsrichtlinie*|sicherheitsvorgabe*|sicherheitsbeschränkung*|sicherheitsfilter|' +
    'systemprompt|system prompt|deine anweisungen|deine regeln|ihre anweisungen|deine richtlinien|' +
    'deine einschränkungen|deine vorgaben|schutzmechanismen',
  agent:
    'ki|ki assistent*|ki agent*|ki modell*|assistent|assistenten|agent|agenten|sprachmodell*|chatbot|' +
    'künstliche intelligenz|kuenstliche intelligenz|ki system*',
  agentCall:
    'wenn du eine ki|wenn sie eine ki|falls du eine ki|falls sie eine ki|wenn du ein ki|falls du ein ki|' +
    'wenn du ein sprachmodell|falls du ein sprachmodell|falls sie ein ki|wenn sie ein ki|du bist eine ki|' +
    'du bist ein ki|als ki|lieber assistent|hinweis an den assistenten|hinweis für den assistenten|' +
    'an den assistenten|anweisung an die ki|anweisung für die ki|anweisungen für die ki|' +
    'anweisung für den assistenten|anweisungen für den assistenten|anweisung an den assistenten|' +
    'anweisungen an den assistenten|beim zusammenfassen|wenn du diese e mail|wenn du diese mail|' +
    'wenn du diese nachricht|wenn sie diese e mail zusammenfassen|bevor du zusammenfasst|' +
    'in deiner zusammenfassung|deine zusammenfassung|deine neue aufgabe|deine eigentliche aufgabe|' +
    'der diese nachricht verarbeitet|die diese nachricht verarbeitet|der diese e mail verarbeitet|' +
    'die diese e mail verarbeitet|der diese mail liest|du der assistent|du der agent|du als assistent|' +
    'du als agent|bei der verarbeitung dieser|beim verarbeiten dieser|sobald du dies liest|ki die dies liest|' +
    'wenn der assistent|falls der assistent|wenn die ki|falls die ki',
  send:
    'leite|leiten|weiterleit*|weiterzuleiten|leitest|sende|senden|sendest|schicke|schicken|schick|übermittle|' +
    'uebermittle|übermitteln|versende|versenden|exportiere|exportieren|kopiere|teile|lade hoch|hochladen|' +
    'mail mir|mail alle|mail die|maile|setze in bcc|bcc|cc|verschicke|übertrage|sendet|schickt|stelle zu|' +
    'gib weiter|zu senden|zu schicken',
  replyWith:
    'antworte mit|antworten sie mit|füge in deine antwort|nimm in deine antwort|in deiner antwort|in die antwort|' +
    'schreibe zurück|gib mir|nenne mir|liste auf|gib aus|liste mir|zeige mir|schicke mir|sende mir|schick mir|' +
    'gib alle|liste alle',
  answer: 'antworte|antworten|beantworte',
  act:
    'überweise|überweisen|lösche|loesche|löschen|archiviere|rufe|führe aus|fuehre|führe|verwende|nutze|klicke|' +
    'öffne|oeffne|lade|markiere|verschiebe|ueberweise|bezahle|genehmige|bestätige|bestaetige|ändere|aendere|' +
    'setze|schreibe|gib|sage|antworte|sende|leite|schicke|suche|füge|fuege|erstelle|empfiehl|bewerte|erwähne|' +
    'rate|fordere|nenne|stufe|behaupte|installiere',
  bulk:
    'alle e mails|alle mails|alle emails|alle nachrichten|sämtliche e mails|sämtliche nachrichten|' +
    'sämtliche mails|jede e mail|jede mail|jede nachricht|jede eingehende|alle eingehenden|alle ungelesenen|' +
    'alle anhänge|alle kontakte|alle künftigen|alle antworten|posteingang|des posteingangs|postfach|' +
    'des postfachs|inhalt aller|den gesamten verlauf|gesamten verlauf|gesamte korrespondenz|gesamten posteingang|' +
    'gesamte postfach|adressbuch|kontaktliste|letzten e mails|letzten mails|letzten nachrichten|letzten zehn|' +
    'letzten fünf|interne e mails|internen e mails|vertraulichen e mails|vertrauliche e mails|diesen thread|' +
    'gesamten thread|ganzen thread|e mails mit|e mails von|nachrichten mit',
  data: 'kundenliste|alle rechnungen|alle daten|alle dokumente|alle dateien',
  recent: 'letzten|letzte|neuesten|jüngsten|aktuellen',
  mails: 'e mails|mails|nachrichten|anhänge|rechnungen',
  autoForward:
    'weiterleitungsregel*|automatische weiterleitung|automatisch weiter*|weiterleitung ein|regel die alle|' +
    'posteingangsregel*',
  secret:
    'passwort|passwörter|passwoerter|kennwort|kennwörter|zugangsdaten|api schlüssel|api key*|zugriffstoken|' +
    'bestätigungscode*|sicherheitscode*|einmalcode*|geheimnisse|privaten schlüssel|kreditkarten*|bankverbindung|' +
    'kontonummer*|tan|token',
  conceal:
    'informiere niemanden|informieren sie niemanden|sage nichts|sag nichts|nichts sagen|nicht sagen|' +
    'informiere nicht|nicht informieren|nicht erwähnen|erwähne nicht|erwähne dies nicht|erwähne das nicht|' +
    'erwähne diese|teile nicht mit|nicht mitteilen|ohne zu informieren|ohne dem|ohne den|ohne rückfrage|' +
    'ohne nachzufragen|ohne zu fragen|nicht zeigen|zeige dies nicht|nicht anzeigen|verrate nicht|verrate dem|' +
    'verrate niemandem|verschweige|verheimliche|nicht verraten|ohne bestätigung|darf nicht erfahren|' +
    'darf davon nichts|soll nichts|nicht sehen kann|nicht sichtbar|benachrichtige nicht|nicht benachrichtigen|' +
    'frage nicht nach|ohne zustimmung|informiere den benutzer nicht|informiere den nutzer nicht|' +
    'sage dem benutzer nichts|sag dem nutzer nichts|sage dem nutzer nichts|sag dem benutzer nichts|erzähle dem|' +
    'erzähl dem|ohne wissen',
  quietly: 'heimlich|unbemerkt|stillschweigend|unauffällig|im hintergrund|still und leise|diskret',
  user:
    'benutzer|dem benutzer|den benutzer|nutzer|dem nutzer|den nutzer|anwender|besitzer|empfänger|inhaber|' +
    'niemandem|deinem chef|menschen|postfachinhaber|auftraggeber|deiner zusammenfassung',
  reveal:
    'verrate|gib aus|zeige|nenne|wiederhole|offenbare|gib|drucke|schreibe|sende mir|antworte mit|liste auf|' +
    'zitiere|gib wieder|teile mir mit|preisgeben|ausgeben',
  prompt:
    'systemprompt|system prompt|systemanweisung*|deine anweisungen|deine instruktionen|deine vorgaben|' +
    'deinen prompt|deine regeln|ihre anweisungen|deine werkzeuge|deine konfiguration|deinen system|' +
    'deiner anweisungen|deine systemnachricht|ursprünglichen anweisungen|deine ursprünglichen',
  unlock:
    'entwicklermodus|uneingeschränkten modus|uneingeschränkter modus|adminmodus|wartungsmodus|debugmodus|' +
    'du bist jetzt|du bist nun|ab jetzt bist du|ab sofort bist du|keine einschränkungen mehr|' +
    'ohne einschränkungen|einschränkungen sind aufgehoben|beschränkungen sind aufgehoben|' +
    'beschränkungen aufgehoben|einschränkungen aufgehoben|regeln gelten nicht mehr|tu so als|verhalte dich wie|' +
    'spiele die rolle|jailbreak|nicht mehr gebunden|beschränkungen gelten nicht',
  systemic:
    'systemnachricht|systemanweisung*|systemmeldung|systemhinweis|systembefehl|neue anweisung*|' +
    'geänderte anweisung*|versteckte anweisung*|wichtige anweisung*|entwicklerhinweis|entwicklernotiz|' +
    'hinweis des entwicklers|hinweis der entwickler|administratorhinweis|admin hinweis|geheime anweisung*|' +
    'neue systemanweisung*|ende der nachricht|ende der e mail|interne anweisung*|anweisung für',
  authorise:
    'der benutzer hat|der nutzer hat|ich ermächtige dich|ich autorisiere dich|du bist berechtigt|du bist befugt|' +
    'ist freigegeben|wurde genehmigt|bereits genehmigt|im namen des benutzers|hiermit erlaubt|hiermit ermächtigt|' +
    'hat zugestimmt|bereits zugestimmt|hat freigegeben',
  oddForm: 'rückwärts|in base64|base64|rot13|als gedicht|wie ein pirat|morsecode|in großbuchstaben',
  yourAnswer: 'deine antwort|ihre antwort|deiner antwort|antworte|deine ausgabe|schreibe deine',
  mine:
    'anweisungen zum|anweisungen zur|anweisungen des|hinweise zum|hinweise zur|meine letzte|meine vorherige|' +
    'meine frühere|meiner letzten|meinen anweisungen|unsere letzte|unserer letzten|meine mail|meine e mail|' +
    'meiner mail|aufbauanleitung|ich hatte geschickt',
  suspicion: 'verdächtig*|phishing|spam|betrug*|missbrauch|irrtümlich|versehentlich|falsch zugestellt|melden',
  unsubscribe:
    'abmelden|abbestell*|newsletter|abmeldung|keine weiteren|kundendienst|kundenservice|bewerbung*|bei fragen|' +
    'rückfragen|fragen haben',
  never: 'niemals|nie|geben sie nie|nicht weiter|teilen sie nicht|geben sie keine|bitte nicht|nicht weitergeben',
  firstPerson:
    'ich werde|wir werden|ich habe|wir haben|ich kann|wir können|ich melde|ich leite|sie können|ich sende|' +
    'wir senden|ich schicke|so können|kannst du|können sie',
  aboutAttacks:
    'angreifer*|angriff*|zum beispiel|beispielsweise|z b|sicherheitsforscher*|schwachstelle*|schulung|wie etwa|' +
    'forscher*|sensibilisierung|erkannt|abgewehrt|wir haben erkannt|workshop|vortrag|sätze wie|roman|kapitel',
  destroy: 'lösche|löschen sie|entferne|leere|vernichte',
  contents: 'den inhalt|inhalt der|die inhalte|den kompletten|vollständigen inhalt',
}
