// Italian.
import type { Lexicon } from './concept.ts'

export const italian: Lexicon = {
  ignore:
    'ignora|ignorare|ignorate|ignori|dimentica|dimenticare|dimenticate|dimentichi|trascura|trascurare|' +
    'non tenere conto|non tener conto|non considerare|scavalca|aggira|aggirare|annulla|annullare|scarta|scartare|' +
    'non seguire|disattendi|sovrascrivi|disobbedisci',
  prior:
    'precedente|precedenti|sopra|tutte|tutti|qualsiasi|tue|tuoi|sue|vostre|originali|iniziali|esistenti|' +
    'di sicurezza|del sistema|sistema|ricevute|ogni|tutto|anteriori|fornite',
  rules:
    'istruzione|istruzioni|indicazione|indicazioni|regola|regole|direttiva|direttive|ordine|ordini|prompt|' +
    'restrizione|restrizioni|vincolo|vincoli|linee guida|limitazioni|comandi',
  safety:
    'regole di sicurezza|vincoli di sicurezza|restrizioni di sicurezza|filtri di sicurezza|' +
    'linee guida di sicurezza|prompt di sistema|le tue istruzioni|tue istruzioni|tue regole|tue restrizioni|' +
    'tue direttive|misure di sicurezza|tue linee guida',
  agent: 'ia|ai|assistente|agente|agenti|modello linguistico|chatbot|intelligenza artificiale|llm|bot',
  agentCall:
    'se sei un ia|se sei un ai|se sei un intelligenza|se sei un assistente|se sei un modello|se sei un agente|' +
    'se lei è un assistente|sei un ia|sei un assistente ai|sei un assistente ia|come ia|come assistente|' +
    'come agente|caro assistente|gentile assistente|attenzione assistente|nota per l ai|nota per l assistente|' +
    'nota all assistente|messaggio per l assistente|istruzioni per l ia|istruzioni per l ai|' +
    'istruzioni per l assistente|istruzione per l assistente|istruzione per l ia|all ia|all assistente|' +
    'quando riassumi|nel riassumere|prima di riassumere|nel tuo riassunto|nel riassunto|il tuo nuovo compito|' +
    'la tua nuova attività|l ia che legge|l ia che elabora|l assistente che legge|l assistente che elabora|' +
    'l agente che elabora|durante l elaborazione|quando elabori|tu l assistente|tu l agente|' +
    'dopo aver letto questo|dopo aver letto questa|il tuo vero compito|tu assistente|se l assistente|se l ia|' +
    'se l agente',
  send:
    'inoltra|inoltrare|inoltrate|inoltri|inoltrali|inoltralo|invia|inviare|inviate|invii|inviali|spedisci|' +
    'spedire|manda|mandare|trasmetti|trasmettere|condividi|condividere|esporta|esportare|copia|metti in copia|' +
    'ccn|bcc|carica|gira|trasferisci',
  replyWith:
    'rispondi con|rispondere con|risponda con|includi nella risposta|includi nella tua risposta|' +
    'inserisci nella risposta|nella tua risposta|dammi|inviami|mandami|elenca|mostrami|mostra|' +
    'allega alla risposta|dimmi|riporta|indicami',
  answer: 'rispondi|rispondere|rispondete|risponda',
  act:
    'elimina|eliminare|cancella|cancellare|archivia|chiama|esegui|eseguire|usa|utilizza|clicca|apri|scarica|' +
    'segna|sposta|paga|pagare|approva|approvare|conferma|modifica|cambia|aggiungi|scrivi|di|rispondi|invia|' +
    'inoltra|cerca|crea|consiglia|raccomanda|afferma|menziona|effettua|bonifica|classifica|installa|devi|deve',
  bulk:
    'tutte le email|tutte le e mail|tutte le mail|tutti i messaggi|tutti gli allegati|tutti i contatti|' +
    'tutte le conversazioni|tutta la corrispondenza|tutta la conversazione|ogni email|ogni e mail|ogni mail|' +
    'ogni messaggio|qualsiasi email|qualsiasi messaggio|posta in arrivo|casella di posta|la casella|' +
    'contenuto delle|ultime email|ultime e mail|ultime mail|ultimi messaggi|ultime dieci|ultime cinque|rubrica|' +
    'elenco dei contatti|lista dei contatti|cronologia|email interne|e mail interne|messaggi interni|' +
    'email riservate|e mail riservate|messaggi riservati|intera conversazione|intero thread|messaggi non letti|' +
    'email non lette|email che|email con|email recenti',
  data: 'tutti i documenti|tutti i dati|tutte le fatture|elenco clienti|lista clienti',
  recent: 'ultime|ultimi|recenti',
  mails: 'email|mail|messaggi|fatture|allegati',
  autoForward:
    'regola di inoltro|inoltro automatico|inoltra automaticamente|inoltrare automaticamente|' +
    'reindirizzamento automatico',
  secret:
    'password|credenziali|chiave api|chiavi api|token|codice di verifica|codici di verifica|codice di sicurezza|' +
    'chiave privata|chiavi private|carta di credito|coordinate bancarie|segreti|codici di accesso|codice monouso|' +
    'parola d ordine',
  conceal:
    'non dire|non dirlo|non dica|non dite|non informare|non avvisare|non avvertire|non menzionare|' +
    'non menzionarlo|non citare|non rivelare|non mostrare|non mostrarlo|non notificare|senza dire|senza dirlo|' +
    'senza informare|senza avvisare|senza menzionare|senza chiedere|senza conferma|senza avvertire|nascondi|' +
    'nascondere|non deve sapere|non deve saperlo|non può vedere|non vede|senza che|all insaputa|non parlare',
  quietly: 'segretamente|silenziosamente|di nascosto|in silenzio|in background|discretamente|in segreto',
  user: 'utente|all utente|l utente|proprietario|destinatario|nessuno|titolare|capo|umano|persona|riassunto',
  reveal:
    'rivela|rivelare|mostra|mostrare|stampa|ripeti|ripetere|divulga|dai|dammi|scrivi|comunica|cita|copia|inviami|' +
    'elenca|condividi|indica|dimmi|riporta|rispondi con',
  prompt:
    'prompt di sistema|prompt del sistema|messaggio di sistema|istruzioni di sistema|tue istruzioni|tuo prompt|' +
    'tue regole|tuoi strumenti|tua configurazione|istruzioni iniziali|istruzioni originali|tue direttive|' +
    'istruzioni del sistema',
  unlock:
    'modalità sviluppatore|modalità senza restrizioni|modalità amministratore|modalità manutenzione|' +
    'modalità debug|ora sei|adesso sei|da ora in poi sei|d ora in poi sei|da questo momento sei|' +
    'senza restrizioni|senza alcuna restrizione|restrizioni sono state|restrizioni rimosse|restrizioni revocate|' +
    'non si applicano più|non valgono più|agisci come|fingi|comportati come|jailbreak|non hai restrizioni|' +
    'restrizioni sono sospese',
  systemic:
    'messaggio di sistema|messaggio del sistema|istruzione di sistema|istruzioni di sistema|nota di sistema|' +
    'nota dello sviluppatore|nota per sviluppatori|nota dell amministratore|nuova istruzione|nuove istruzioni|' +
    'istruzione nascosta|istruzioni nascoste|istruzione segreta|istruzioni importanti|istruzione prioritaria|' +
    'aggiornamento di sistema|istruzione interna|fine del messaggio|fine dell email|istruzioni aggiuntive|' +
    'avviso di sistema',
  authorise:
    'l utente ha|ti autorizzo|la autorizzo|sei autorizzato|è autorizzato|ha già approvato|già approvato|' +
    'già autorizzato|ha dato il consenso|per conto dell utente|ha autorizzato|a nome dell utente',
  oddForm: 'al contrario|in base64|base64|rot13|come un pirata|in morse|in maiuscolo|sotto forma di poesia',
  yourAnswer: 'tua risposta|sua risposta|rispondi|tuo messaggio|scrivi la',
  mine:
    'mio precedente|mie precedenti|mia precedente|mio ultimo|mia ultima|mie istruzioni|nostro precedente|' +
    'nostro ultimo|mia email|mia mail|mio messaggio|ho inviato|istruzioni di montaggio',
  suspicion:
    'sospetto|sospetti|sospetta|sospette|phishing|spam|frode|frodi|truffa*|abuso|per errore|segnala|segnalare|' +
    'fraudolent*',
  unsubscribe:
    'disiscri*|annulla l iscrizione|annullare l iscrizione|cancellarti|non ricevere più|newsletter|' +
    'servizio clienti|assistenza clienti|candidatura*|per domande|eventuali domande|hai domande',
  never: 'mai|non condividere|non condivida|non inviare|non invii|non inoltrare|non rispondere|non comunicare',
  firstPerson:
    'abbiamo|posso|possiamo|vi invio|ti invio|le invio|invierò|invieremo|puoi|può|potete|permette|consente|' +
    'vi inoltro|ti inoltro|le inoltro',
  aboutAttacks:
    'attaccant*|aggressor*|attacco|attacchi|ad esempio|per esempio|ricercator*|vulnerabilità|formazione|' +
    'sensibilizzazione|frasi come|rilevato|rilevata|bloccato|laboratorio|seminario|romanzo|capitolo',
  destroy: 'elimina|cancella|svuota|rimuovi',
  contents: 'il contenuto|contenuto della|contenuto completo|contenuto integrale',
}
