// Portuguese.
import type { Lexicon } from './concept.ts'

export const portuguese: Lexicon = {
  ignore:
    'ignore|ignora|ignorar|ignorem|esqueça|esqueca|esquece|esquecer|desconsidere|desconsiderar|desconsidera|' +
    'não siga|não sigas|contorne|contorna|anule|anula|descarte|descarta|substitua|sobrescreva|desrespeite|' +
    'não leve em conta|não tenhas em conta|desobedeça',
  prior:
    'anterior|anteriores|prévia|prévias|prévio|acima|todas|todos|qualquer|suas|seus|tuas|teus|originais|iniciais|' +
    'existentes|de segurança|do sistema|sistema|recebidas|tudo|precedentes|dadas',
  rules:
    'instrução|instruções|regra|regras|diretriz|diretrizes|diretiva|diretivas|ordem|ordens|prompt|prompts|' +
    'restrição|restrições|orientações|limitações|comandos|indicações',
  safety:
    'regras de segurança|restrições de segurança|filtros de segurança|diretrizes de segurança|prompt do sistema|' +
    'prompt de sistema|suas instruções|tuas instruções|suas regras|suas restrições|suas diretrizes|' +
    'medidas de segurança|tuas regras',
  agent: 'ia|assistente|agente|agentes|modelo de linguagem|chatbot|inteligência artificial|llm|robô',
  agentCall:
    'se você é uma ia|se você for uma ia|se és uma ia|se fores uma ia|se você é um assistente|' +
    'se você for um assistente|se és um assistente|se você for um modelo|se você é um modelo|' +
    'se você for um agente|você é uma ia|és uma ia|como ia|como assistente|como agente de ia|caro assistente|' +
    'prezado assistente|atenção assistente|nota para o assistente|nota ao assistente|mensagem para a ia|' +
    'mensagem para o assistente|instruções para a ia|instruções para o assistente|instrução para o assistente|' +
    'instrução para a ia|à ia|ao assistente|ao resumir este|ao resumir|quando resumir|quando você resumir|' +
    'antes de resumir|no seu resumo|no teu resumo|sua nova tarefa|a tua nova tarefa|a ia que lê|' +
    'a ia que processa|o assistente que lê|o assistente que processa|o agente que processa|ao processar este|' +
    'ao processar esta|quando processar|você o assistente|você o agente|depois de ler este|depois de ler esta|' +
    'sua verdadeira tarefa|assistente que estiver|se o assistente|se a ia|se o agente',
  send:
    'encaminhe|encaminha|encaminhar|encaminhem|reencaminhe|reencaminha|reencaminhar|envie|envia|enviar|enviem|' +
    'mande|manda|mandar|transmita|compartilhe|compartilhar|partilhe|partilha|exporte|exporta|exportar|copie|' +
    'coloque em cópia|cco|bcc|remeta|carregue|transfira',
  replyWith:
    'responda com|responde com|inclua na resposta|inclua na sua resposta|inclui na tua resposta|na sua resposta|' +
    'me envie|envie me|me mande|liste|lista|mostre|mostra|anexe à resposta|diga me|me diga|dê me|indique',
  answer: 'responda|responde|responder',
  act:
    'apague|apaga|exclua|exclui|elimine|elimina|delete|arquive|arquiva|chame|execute|executa|use|utilize|clique|' +
    'abra|baixe|marque|mova|pague|aprove|aprova|confirme|altere|mude|adicione|acrescente|escreva|escreve|diga|' +
    'responda|envie|encaminhe|procure|crie|recomende|afirme|mencione|realize|transfira|classifique|instale|deve|' +
    'você deve',
  bulk:
    'todos os e mails|todos os emails|todas as mensagens|todos os correios|todos os meus|todos os seus|' +
    'todas as conversas|todos os contatos|todos os contactos|todos os anexos|cada e mail|cada email|' +
    'cada mensagem|qualquer e mail|qualquer email|qualquer mensagem|caixa de entrada|caixa de correio|a caixa|' +
    'conteúdo dos|últimos e mails|últimos emails|últimas mensagens|últimos dez|últimos cinco|e mails recentes|' +
    'mensagens recentes|lista de contatos|lista de contactos|catálogo de endereços|histórico|e mails internos|' +
    'emails internos|mensagens internas|e mails confidenciais|emails confidenciais|mensagens confidenciais|' +
    'toda a conversa|conversa inteira|toda a correspondência|e mails não lidos|emails não lidos|' +
    'mensagens não lidas|e mails que|e mails com',
  data: 'todos os documentos|todos os dados|todas as faturas|lista de clientes',
  recent: 'últimos|últimas|recentes',
  mails: 'e mails|emails|mensagens|faturas|anexos',
  autoForward:
    'regra de encaminhamento|regra de reencaminhamento|encaminhamento automático|reencaminhamento automático|' +
    'encaminhe automaticamente|encaminhar automaticamente',
  secret:
    'senha|senhas|palavra passe|palavras passe|credencial|credenciais|chave de api|chaves de api|chave api|' +
    'chaves api|token|tokens|código de verificação|códigos de verificação|código de segurança|chave privada|' +
    'cartão de crédito|dados bancários|segredos|códigos de acesso',
  conceal:
    'não diga|não digas|não conte|não contes|não informe|não informes|não avise|não avises|não mencione|' +
    'não menciones|não o mencione|não revele|não reveles|não mostre|não mostres|não notifique|sem dizer|' +
    'sem informar|sem avisar|sem mencionar|sem perguntar|sem pedir|sem confirmação|sem notificar|oculte|esconda|' +
    'não deve saber|não pode saber|não pode ver|não vê|sem que|não comente|nada diga',
  quietly: 'secretamente|silenciosamente|discretamente|em silêncio|em segredo|em segundo plano|às escondidas',
  user:
    'usuário|ao usuário|o usuário|utilizador|ao utilizador|o utilizador|proprietário|destinatário|ninguém|' +
    'titular|chefe|humano|pessoa|resumo|dono',
  reveal:
    'revele|revela|mostre|mostra|imprima|repita|repete|divulgue|dê|escreva|comunique|cite|copie|me envie|liste|' +
    'compartilhe|indique|diga|exiba|responda com',
  prompt:
    'prompt do sistema|prompt de sistema|mensagem do sistema|instruções do sistema|suas instruções|' +
    'tuas instruções|seu prompt|teu prompt|suas regras|suas ferramentas|sua configuração|instruções iniciais|' +
    'instruções originais|suas diretrizes',
  unlock:
    'modo desenvolvedor|modo de desenvolvedor|modo programador|modo sem restrições|modo irrestrito|' +
    'modo administrador|modo de manutenção|modo de depuração|agora você é|agora és|a partir de agora você|' +
    'a partir de agora és|de agora em diante você|sem restrições|sem qualquer restrição|restrições foram|' +
    'restrições suspensas|restrições removidas|já não se aplicam|não se aplicam mais|aja como|age como|finja|' +
    'faça de conta|comporte se como|jailbreak|você não tem restrições',
  systemic:
    'mensagem do sistema|mensagem de sistema|instrução do sistema|instruções do sistema|nota do sistema|' +
    'nota do desenvolvedor|nota do programador|nota do administrador|nova instrução|novas instruções|' +
    'instrução oculta|instruções ocultas|instrução secreta|instruções importantes|instrução prioritária|' +
    'atualização do sistema|instrução interna|fim da mensagem|fim do e mail|instruções adicionais|' +
    'aviso do sistema',
  authorise:
    'o usuário já|o usuário autorizou|o usuário aprovou|o utilizador já|o utilizador autorizou|eu autorizo você|' +
    'autorizo te|você está autorizado|estás autorizado|já aprovou|já foi aprovado|deu consentimento|' +
    'em nome do usuário|em nome do utilizador|já autorizou|previamente autorizado',
  oddForm:
    'ao contrário|de trás para frente|em base64|base64|rot13|como um pirata|em morse|em maiúsculas|' +
    'em forma de poema',
  yourAnswer: 'sua resposta|tua resposta|responda|sua mensagem|escreva sua',
  mine:
    'meu anterior|minhas anteriores|minha anterior|meu último|minha última|minhas instruções|nosso anterior|' +
    'nosso último|meu e mail|meu email|minha mensagem|enviei|instruções de montagem',
  suspicion:
    'suspeito|suspeitos|suspeita|suspeitas|phishing|spam|fraude*|fraudulent*|abuso|por engano|denuncie|denunciar|' +
    'golpe*',
  unsubscribe:
    'cancelar a inscrição|cancelar a subscrição|descadastr*|deixar de receber|newsletter|boletim|' +
    'atendimento ao cliente|apoio ao cliente|candidatura*|em caso de dúvida*|tiver dúvidas|tem dúvidas',
  never: 'nunca|jamais|não compartilhe|não partilhe|não envie|não encaminhe|não responda|não forneça',
  firstPerson:
    'vou|vamos|tenho|temos|posso|podemos|envio|enviarei|enviaremos|você pode|pode|podem|permite|permitem|' +
    'encaminho',
  aboutAttacks:
    'atacante*|ataque*|por exemplo|pesquisador*|investigador*|vulnerabilidade*|treinamento|formação|' +
    'conscientização|frases como|tais como|detectado|detetado|bloqueado|oficina|palestra|seminário|romance|' +
    'capítulo',
  destroy: 'apague|apaga|exclua|elimine|esvazie',
  contents: 'o conteúdo|conteúdo da|conteúdo completo|conteúdo integral',
}
