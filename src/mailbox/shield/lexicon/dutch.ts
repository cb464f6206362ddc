// Dutch.
import type { Lexicon } from './concept.ts'

export const dutch: Lexicon = {
  ignore:
    'negeer|negeert|negeren|vergeet|vergeten|sla over|omzeil|omzeilen|overschrijf|overschrijven|' +
    'houd geen rekening|hou geen rekening|volg niet|laat buiten beschouwing|verwerp|gehoorzaam niet|' +
    'schuif terzijde|trek je niets aan',
  prior:
    'vorige|voorgaande|eerdere|bovenstaande|alle|al je|al uw|jouw|je|uw|oorspronkelijke|bestaande|veiligheids*|' +
    'systeem*|gegeven|alles|voorafgaande|initiële',
  rules:
    'instructie|instructies|opdracht|opdrachten|regel|regels|richtlijn|richtlijnen|prompt|prompts|beperking|' +
    'beperkingen|bevel|bevelen|aanwijzing|aanwijzingen|veiligheidsregels|voorschriften',
  safety:
    'veiligheidsregels|veiligheidsrichtlijnen|veiligheidsbeperkingen|beveiligingsregels|systeemprompt|' +
    'jouw instructies|je instructies|uw instructies|je regels|je richtlijnen|je beperkingen|veiligheidsfilters|' +
    'beveiligingsfilters',
  agent: 'ai|ai assistent|ai agent|ai model|assistent|agent|taalmodel|chatbot|kunstmatige intelligentie|llm|bot',
  agentCall:
    'als je een ai|als u een ai|indien u een ai|als jij een ai|als je een assistent|als u een assistent|' +
    'als je een taalmodel|als u een taalmodel|je bent een ai|jij bent een ai|u bent een ai|als ai assistent|' +
    'als ai agent|beste assistent|aandacht ai|opmerking voor de ai|opmerking voor de assistent|' +
    'notitie voor de ai|notitie voor de assistent|bericht aan de assistent|instructies voor de ai|' +
    'instructies voor de assistent|instructie voor de assistent|instructie voor de ai|' +
    'instructie aan de assistent|aan de assistent|bij het samenvatten|wanneer je dit samenvat|' +
    'als je deze mail samenvat|als je deze e mail|wanneer je deze e mail|voordat je samenvat|in je samenvatting|' +
    'in uw samenvatting|je nieuwe taak|uw nieuwe taak|jouw nieuwe taak|de ai die dit|de assistent die dit|' +
    'de agent die dit|die dit bericht verwerkt|die deze e mail verwerkt|die deze mail verwerkt|' +
    'bij het verwerken van|jij de assistent|jij de agent|u de assistent|na het lezen van|je echte taak|' +
    'als de assistent|als de ai|indien de assistent',
  send:
    'stuur|sturen|doorsturen|door te sturen|verstuur|versturen|zend|zenden|verzend|verzenden|mail alle|mail mij|' +
    'mail de|mail het|mailen|deel|delen|exporteer|exporteren|kopieer|zet in bcc|bcc|cc|upload|geef door|' +
    'doorgestuurd',
  replyWith:
    'antwoord met|beantwoord met|neem op in je antwoord|neem in je antwoord|zet in je antwoord|in je antwoord|' +
    'geef me|stuur me|toon me|laat me zien|som op|lijst op|noem|vermeld in je antwoord|geef een lijst|stuur mij',
  answer: 'antwoord|beantwoord|antwoorden|reageer',
  act:
    'verwijder|wis|archiveer|roep aan|roep|voer uit|voer|gebruik|klik|open|download|markeer|verplaats|betaal|' +
    'keur goed|bevestig|wijzig|verander|voeg toe|voeg|schrijf|zeg|antwoord|stuur|zoek|maak|beveel aan|beweer|' +
    'meld|boek over|beoordeel|installeer|moet',
  bulk:
    'alle e mails|alle mails|alle emails|alle berichten|al mijn e mails|al uw e mails|al je e mails|' +
    'alle bijlagen|alle contacten|alle gesprekken|alle toekomstige|alle inkomende|alle ongelezen|elke e mail|' +
    'elke mail|elk bericht|iedere e mail|ieder bericht|postvak in|het postvak|postvak|de inbox|je inbox|uw inbox|' +
    'de mailbox|je mailbox|uw mailbox|hele mailbox|laatste e mails|laatste mails|laatste berichten|laatste tien|' +
    'laatste vijf|recente e mails|adresboek|contactenlijst|lijst met contacten|geschiedenis|interne e mails|' +
    'interne mails|interne berichten|vertrouwelijke e mails|vertrouwelijke berichten|vertrouwelijke mails|' +
    'het hele gesprek|volledige conversatie|hele conversatie|alle correspondentie|ongelezen berichten|' +
    'e mails met|berichten met',
  data: 'alle documenten|alle gegevens|alle facturen|klantenlijst',
  recent: 'laatste|recente|nieuwste',
  mails: 'e mails|mails|berichten|facturen|bijlagen',
  autoForward: 'doorstuurregel*|automatisch door*|automatische doorstur*|doorstuurfilter|regel die alle',
  secret:
    'wachtwoord|wachtwoorden|inloggegevens|api sleutel|api sleutels|api key*|token|tokens|verificatiecode*|' +
    'beveiligingscode*|privésleutel*|creditcard*|bankgegevens|geheimen|toegangscode*|eenmalige code|' +
    'rekeningnummer*',
  conceal:
    'vertel niet|vertel de gebruiker niet|vertel het niet|vertel dit niet|vertel niets|zeg niets|' +
    'zeg de gebruiker niets|informeer niet|informeer de gebruiker niet|niet informeren|vermeld niet|' +
    'vermeld dit niet|vermeld het niet|niet vermelden|noem dit niet|onthul niet|toon niet|toon dit niet|' +
    'niet tonen|waarschuw niet|waarschuw de gebruiker niet|zonder te vertellen|zonder te informeren|' +
    'zonder te melden|zonder te vragen|zonder bevestiging|zonder de gebruiker|zonder het te|verberg|verzwijg|' +
    'mag niet weten|mag dit niet weten|mag dit niet|kan dit niet zien|niet zichtbaar|niet kan zien|niet ziet|' +
    'meld dit niet|meld niets|zonder toestemming|buiten medeweten',
  quietly: 'stiekem|stilletjes|in stilte|heimelijk|op de achtergrond|ongemerkt|onopvallend|in het geheim',
  user: 'gebruiker|de gebruiker|aan de gebruiker|eigenaar|ontvanger|niemand|je baas|mens|houder|samenvatting',
  reveal:
    'onthul|toon|laat zien|herhaal|geef|druk af|schrijf|deel|noem|citeer|kopieer|stuur me|som op|antwoord met|' +
    'verklap|geef prijs|vertel',
  prompt:
    'systeemprompt|systeem prompt|system prompt|systeembericht|systeeminstructies|je instructies|' +
    'jouw instructies|uw instructies|je prompt|je regels|je tools|je hulpmiddelen|je configuratie|' +
    'oorspronkelijke instructies|je richtlijnen',
  unlock:
    'ontwikkelaarsmodus|onbeperkte modus|beheerdersmodus|onderhoudsmodus|debugmodus|je bent nu|jij bent nu|' +
    'u bent nu|vanaf nu ben je|vanaf nu bent u|zonder beperkingen|zonder enige beperking|' +
    'beperkingen zijn opgeheven|beperkingen zijn verwijderd|beperkingen opgeheven|gelden niet meer|' +
    'niet meer van toepassing|doe alsof|gedraag je als|speel de rol|jailbreak|geen beperkingen meer|' +
    'beperkingen vervallen',
  systemic:
    'systeembericht|systeeminstructie|systeeminstructies|systeemmelding|systeemopdracht|ontwikkelaarsnotitie|' +
    'notitie van de ontwikkelaar|opmerking van de ontwikkelaar|beheerdersnotitie|nieuwe instructie|' +
    'nieuwe instructies|verborgen instructie|verborgen instructies|geheime instructie|belangrijke instructie|' +
    'belangrijke instructies|interne instructie|einde van het bericht|einde bericht|einde van de e mail|' +
    'systeemupdate|aanvullende instructies',
  authorise:
    'de gebruiker heeft|ik machtig je|ik machtig u|ik autoriseer je|je bent gemachtigd|u bent gemachtigd|' +
    'is al goedgekeurd|al goedgekeurd|heeft toestemming|namens de gebruiker|heeft al goedgekeurd|' +
    'vooraf goedgekeurd',
  oddForm: 'achterstevoren|in base64|base64|rot13|als een piraat|in morse|in hoofdletters|als gedicht',
  yourAnswer: 'je antwoord|uw antwoord|antwoord|je bericht|schrijf je',
  mine:
    'instructies van de|instructies over|mijn vorige|mijn eerdere|mijn laatste|mijn instructies|onze vorige|' +
    'ons vorige|mijn mail|mijn e mail|mijn bericht|montage instructies|montagehandleiding',
  suspicion:
    'verdacht|verdachte|phishing|spam|fraude*|frauduleu*|misbruik|per ongeluk|per vergissing|melden|oplichting',
  unsubscribe:
    'afmelden|uitschrijven|nieuwsbrief|niet meer ontvangen|klantenservice|sollicitatie*|bij vragen|' +
    'heeft u vragen|heb je vragen',
  never: 'nooit|deel nooit|deel niet|stuur niet|stuur geen|geef nooit|niet doorsturen|verstrek nooit',
  firstPerson:
    'ik zal|wij zullen|we zullen|ik heb|we hebben|wij hebben|ik kan|we kunnen|ik stuur|wij sturen|we sturen|' +
    'u kunt|je kunt|kun je|kunt u|hiermee kun',
  aboutAttacks:
    'aanvaller*|aanval|aanvallen|bijvoorbeeld|onderzoeker*|kwetsbaarhe*|training|bewustwording|zinnen als|zoals|' +
    'gedetecteerd|geblokkeerd|workshop|lezing|webinar|roman|hoofdstuk',
  destroy: 'verwijder|wis|leeg',
  contents: 'de inhoud|inhoud van|volledige inhoud',
}
