// Names that senders of fraud put on: each with the domains that are really theirs, beyond those that begin with the name.

/** Words of the name, and further domains. */
export const BRANDS: Readonly<Record<string, readonly string[]>> = {
  paypal: [],
  microsoft: [
    'microsoftonline.com',
    'office.com',
    'office365.com',
    'outlook.com',
    'live.com',
    'xbox.com',
    'azure.com',
    'sharepointonline.com',
  ],
  office365: ['microsoft.com', 'microsoftonline.com', 'office.com'],
  google: ['youtube.com', 'googlemail.com', 'gmail.com', 'withgoogle.com', 'android.com', 'goo.gle'],
  apple: ['icloud.com', 'me.com', 'itunes.com'],
  amazon: ['amazonses.com', 'amazonaws.com', 'aws.com', 'primevideo.com', 'audible.com'],
  facebook: ['facebookmail.com', 'meta.com', 'fb.com'],
  instagram: ['facebookmail.com', 'meta.com'],
  whatsapp: ['meta.com', 'facebookmail.com'],
  linkedin: [],
  netflix: [],
  dropbox: ['dropboxmail.com'],
  docusign: ['docusign.net'],
  adobe: ['adobesign.com', 'echosign.com'],
  dhl: ['dpdhl.com', 'deutschepost.de', 'dhl-news.com'],
  fedex: [],
  usps: [],
  ups: ['upsemail.com'],
  coinbase: [],
  binance: [],
  stripe: [],
  shopify: [],
  github: ['githubusercontent.com', 'githubsupport.com'],
  gitlab: [],
  atlassian: ['jira.com', 'trello.com', 'bitbucket.org'],
  slack: [],
  zoom: ['zoom.us', 'zoomgov.com'],
  spotify: [],
  ebay: [],
  'wells fargo': ['wellsfargo.com', 'wellsfargoemail.com'],
  chase: ['jpmorgan.com', 'jpmchase.com'],
  'bank of america': ['bankofamerica.com', 'bofa.com'],
  citibank: ['citi.com', 'citigroup.com'],
  hsbc: [],
  barclays: ['barclaycard.co.uk'],
  'american express': ['americanexpress.com', 'aexp.com'],
  mastercard: [],
  sparkasse: [],
  postbank: ['deutsche-bank.de'],
  'deutsche bank': ['deutsche-bank.de', 'db.com'],
  commerzbank: [],
  ing: ['ing-diba.de'],
  santander: ['gruposantander.com'],
  bbva: [],
  'la poste': ['laposte.fr', 'laposte.net', 'laposte.info'],
  ameli: ['assurance-maladie.fr'],
  'poste italiane': ['posteitaliane.it', 'poste.it'],
  'intesa sanpaolo': ['intesasanpaolo.com'],
  irs: ['irs.gov', 'treasury.gov'],
}

/** Words that a service puts beside its name. */
export const SERVICE_WORDS = new Set(
  (
    'support service services team security account accounts billing customer care help helpdesk desk alert ' +
    'alerts notification notifications no-reply noreply info online bank center centre department payments ' +
    'payment update verification admin administrator kundenservice kundendienst sicherheit konto service-team ' +
    'client sicherheitsteam sécurité compte soporte seguridad cuenta assistenza sicurezza conto suporte ' +
    'segurança conta the your inc llc ltd gmbh corp official member services via and & 365'
  ).split(' '),
)

/** Where anybody gets an address. */
export const FREE_MAIL = new Set(
  (
    'gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com aol.com icloud.com ' +
    'me.com mac.com proton.me protonmail.com pm.me gmx.com gmx.de gmx.net gmx.at gmx.ch web.de t-online.de ' +
    'freenet.de mail.com mail.ru inbox.ru list.ru bk.ru yandex.ru yandex.com rambler.ru zoho.com tutanota.com ' +
    'tuta.io fastmail.com hey.com qq.com 163.com 126.com sina.com foxmail.com naver.com daum.net libero.it ' +
    'virgilio.it alice.it tiscali.it orange.fr wanadoo.fr free.fr sfr.fr laposte.net wp.pl o2.pl onet.pl ' +
    'interia.pl uol.com.br bol.com.br terra.com.br yahoo.co.jp yahoo.co.uk yahoo.fr yahoo.de yahoo.es ' +
    'yahoo.it hotmail.co.uk hotmail.fr hotmail.de hotmail.es hotmail.it outlook.de outlook.fr outlook.es ' +
    'live.nl ziggo.nl kpnmail.nl docomo.ne.jp ezweb.ne.jp'
  ).split(' '),
)
