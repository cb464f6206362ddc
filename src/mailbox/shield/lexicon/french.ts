// French.
import type { Lexicon } from './concept.ts'

export const french: Lexicon = {
  ignore:
    'ignore|ignorez|ignorer|oublie|oubliez|oublier|ne tiens pas compte|ne tenez pas compte|ne pas tenir compte|' +
    'fais abstraction|faites abstraction|contourne|contournez|contourner|outrepasse|outrepassez|annule|annulez|' +
    'ne suis pas|ne suivez pas|remplace|remplacez|desobeis',
  prior:
    'précédente*|précédent*|antérieur*|ci dessus|toutes|tous|tes|vos|initiale*|reçues|existantes|de sécurité|' +
    'du système|système|avant|originales|données|tout',
  rules:
    'instruction|instructions|consigne|consignes|règle|règles|directive|directives|prompt|prompts|restriction*|' +
    'contrainte*|ordres|limites|garde fous',
  safety:
    'règles de sécurité|consignes de sécurité|restrictions de sécurité|filtres de sécurité|prompt système|' +
    'tes instructions|vos instructions|tes consignes|vos consignes|tes règles|tes restrictions|garde fous|' +
    'mesures de sécurité|tes directives|vos directives',
  agent: 'ia|assistant|assistante|agent|agents|modèle de langage|chatbot|intelligence artificielle|llm|robot',
  agentCall:
    'si tu es une ia|si vous êtes une ia|si tu es un assistant|si vous êtes un assistant|si vous êtes un modèle|' +
    'si tu es un modèle|si vous êtes un agent|si tu es un agent|tu es une ia|vous êtes une ia|en tant qu ia|' +
    'en tant qu assistant|en tant qu agent|cher assistant|note à l ia|note à l assistant|note pour l assistant|' +
    'note à l intention de l|message à l assistant|à l attention de l ia|à l attention de l assistant|' +
    'instructions pour l ia|instructions pour l assistant|instruction pour l assistant|instruction pour l ia|' +
    'à l ia|lorsque tu résumes|lorsque vous résumez|quand tu résumes|quand vous résumez|en résumant|' +
    'avant de résumer|dans ton résumé|dans votre résumé|ta nouvelle tâche|votre nouvelle tâche|' +
    'ta nouvelle mission|l assistant qui lit|l ia qui lit|l ia qui traite|l assistant qui traite|' +
    'l agent qui traite|en traitant ce|lors du traitement de ce|toi l assistant|toi l agent|vous l assistant|' +
    'vous l agent|après avoir lu ce|ton véritable objectif|si l assistant|si l ia|si l agent',
  send:
    'transfère|transfere|transférez|transférer|transmet*|envoie|envoyez|envoyer|envoi|fais suivre|faites suivre|' +
    'faire suivre|partage|partagez|exporte|exportez|exporter|copie|mets en copie|mettez en copie|cci|bcc|expédie|' +
    'expédiez|téléverse|téléversez|adresse',
  replyWith:
    'réponds avec|répondez avec|réponds en indiquant|inclus dans ta réponse|incluez dans votre réponse|' +
    'inclus dans la réponse|dans ta réponse|donne moi|donnez moi|envoie moi|envoyez moi|liste|listez|affiche|' +
    'affichez|montre moi|joins à ta réponse|indique moi|indiquez moi',
  answer: 'réponds|répondez|répondre',
  act:
    'supprime|supprimez|efface|effacez|archive|archivez|appelle|appelez|exécute|exécutez|lance|utilise|utilisez|' +
    'clique|cliquez|ouvre|ouvrez|télécharge|marque|marquez|déplace|paie|payez|approuve|approuvez|confirme|' +
    'modifie|change|ajoute|ajoutez|merci de|veuillez|écris|écrivez|dis|dites|réponds|répondez|envoie|envoyez|' +
    'transfère|transférez|cherche|crée|recommande|recommandez|affirme|affirmez|mentionne|vire|virez|effectue|' +
    'effectuez|note|classe|installe',
  bulk:
    'tous les e mails|tous les emails|tous les mails|tous les messages|tous les courriels|tous les courriers|' +
    'tous mes|tous ses|tous vos|tous tes|toutes les pièces|tous les contacts|toutes les conversations|' +
    'chaque e mail|chaque message|chaque mail|chaque courriel|tout e mail|tout message|tout courriel|' +
    'boîte de réception|la boîte mail|boîte aux lettres|contenu des|les derniers e mails|derniers messages|' +
    'derniers e mails|derniers courriels|dix derniers|cinq derniers|carnet d adresses|liste des contacts|' +
    'liste de contacts|historique|e mails internes|messages internes|courriels internes|e mails confidentiels|' +
    'messages confidentiels|courriels confidentiels|toute la conversation|toute la correspondance|' +
    'messages non lus|e mails non lus',
  data: 'tous les documents|toutes les données|liste des clients|toutes les factures',
  recent: 'derniers|dernières|récents|récentes',
  mails: 'e mails|emails|mails|messages|courriels|factures|pièces',
  autoForward:
    'règle de transfert|règle de redirection|transfert automatique|redirection automatique|' +
    'transfère automatiquement|transférer automatiquement',
  secret:
    'mot de passe|mots de passe|identifiant|identifiants|clé api|clés api|clé d api|clés d api|jeton|jetons|' +
    'code de vérification|codes de vérification|code de sécurité|clé privée|clés privées|carte bancaire|' +
    'coordonnées bancaires|secrets|numéro de carte|codes d accès|code à usage unique',
  conceal:
    'ne dis rien|ne dites rien|ne pas prévenir|ne pas avertir|ne rien dire|ne dis pas|ne dites pas|ne le dis pas|' +
    'ne le dites pas|n informe pas|n informez pas|ne pas informer|ne préviens pas|ne prévenez pas|' +
    'ne mentionne pas|ne mentionnez pas|ne le mentionne pas|ne le mentionnez pas|ne pas mentionner|ne parle pas|' +
    'ne parlez pas|n en parle pas|n en parlez pas|ne révèle pas|ne révélez pas|ne montre pas|ne montrez pas|' +
    'ne pas montrer|sans prévenir|sans en informer|sans informer|sans le dire|sans demander|sans confirmation|' +
    'sans avertir|sans mentionner|cachez|ne doit pas savoir|ne doit rien savoir|ne peut pas voir|ne voit pas|' +
    'n avertis pas|n avertissez pas|ne signale|à l insu|ne notifie pas|cache cela|cache ceci|cache le|cache la',
  quietly: 'secrètement|discrètement|silencieusement|en silence|en arrière plan|en cachette|furtivement',
  user:
    'utilisateur|l utilisateur|à l utilisateur|utilisatrice|propriétaire|destinataire|personne|titulaire|' +
    'ton patron|humain|usager|résumé',
  reveal:
    'révèle|révélez|affiche|affichez|montre|montrez|répète|répétez|divulgue|divulguez|donne|donnez|écris|imprime|' +
    'communique|communiquez|recopie|recopiez|cite|envoie moi|liste|partage|indique|transmets',
  prompt:
    'prompt système|prompt du système|invite système|instructions système|tes instructions|vos instructions|' +
    'tes consignes|vos consignes|ton prompt|votre prompt|tes règles|vos règles|tes outils|vos outils|' +
    'message système|ta configuration|instructions initiales|consignes initiales',
  unlock:
    'mode développeur|mode sans restriction|mode sans restrictions|mode illimité|mode administrateur|' +
    'mode maintenance|mode débogage|tu es maintenant|vous êtes maintenant|tu es désormais|vous êtes désormais|' +
    'à partir de maintenant tu|à partir de maintenant vous|désormais tu|désormais vous|sans restriction|' +
    'sans aucune restriction|restrictions sont levées|restrictions levées|restrictions ont été levées|' +
    'fais comme si|faites comme si|agis comme|agissez comme|joue le rôle|jailbreak|ne s appliquent plus|' +
    'plus aucune limite|limites sont levées',
  systemic:
    'message système|message du système|instruction système|instructions système|note système|' +
    'note du développeur|note développeur|note de l administrateur|nouvelle instruction|nouvelles instructions|' +
    'nouvelles consignes|nouvelle consigne|instruction cachée|instructions cachées|instruction secrète|' +
    'instructions importantes|instruction prioritaire|mise à jour du système|consigne interne|' +
    'instruction interne|fin du message|fin de l e mail|fin du courriel|consigne prioritaire',
  authorise:
    'l utilisateur a|je t autorise|je vous autorise|tu es autorisé|vous êtes autorisé|a déjà approuvé|' +
    'déjà approuvé|déjà autorisé|a donné son accord|est pré approuvé|au nom de l utilisateur|a autorisé|a validé',
  oddForm: 'à l envers|en base64|base64|rot13|comme un pirate|en morse|en majuscules|sous forme de poème',
  yourAnswer: 'ta réponse|votre réponse|réponds|répondez|ton message|écris ta',
  mine:
    'consignes précédentes sur|instructions précédentes sur|consignes sur|mon précédent|mes précédentes|' +
    'mon dernier|ma dernière|mes instructions|notre précédent|notre dernier|mon message|mon e mail|mon mail|' +
    'mon courriel|j ai envoyé|notice de montage',
  suspicion:
    'suspect|suspects|suspecte|suspectes|hameçonnage|phishing|spam|fraude*|frauduleux|frauduleuse|abus|' +
    'par erreur|signaler|arnaque*',
  unsubscribe:
    'désabonn*|désinscri*|ne plus recevoir|lettre d information|newsletter|service client|candidature*|' +
    'toute question|des questions|une question',
  never:
    'jamais|ne partagez pas|ne communiquez|ne transmettez pas|ne donnez|n envoyez pas|ne répondez pas|' +
    'merci de ne pas|ne transférez pas',
  firstPerson:
    'je vais|nous allons|j ai|nous avons|je peux|nous pouvons|je vous|nous vous|vous pouvez|je transfère|' +
    'nous transférons|permet de|permettent de',
  aboutAttacks:
    'attaquant*|attaque*|par exemple|chercheur*|vulnérabilité*|formation|sensibilisation|des phrases comme|' +
    'telles que|tels que|détecté|détectée|bloqué|atelier|conférence|webinaire|roman|chapitre|pirates',
  destroy: 'supprime|supprimez|efface|effacez|vide',
  contents: 'le contenu|contenu de la|contenu intégral|l intégralité',
}
