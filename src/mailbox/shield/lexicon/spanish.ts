// Spanish.
import type { Lexicon } from './concept.ts'

export const spanish: Lexicon = {
  ignore:
    'ignora|ignore|ignorar|ignoren|olvida|olvide|olvidar|haz caso omiso|haga caso omiso|no hagas caso|' +
    'no haga caso|omite|omita|omitir|descarta|descarte|descartar|pasa por alto|anula|anule|anular|no sigas|' +
    'no siga|sobrescribe|elude|desobedece|no tengas en cuenta|sáltate',
  prior:
    'anterior|anteriores|previa|previas|previo|previos|todas|todos|cualquier|tus|sus|originales|iniciales|' +
    'existentes|de seguridad|del sistema|sistema|arriba|recibidas|todo|precedentes|dadas',
  rules:
    'instrucción|instrucciones|indicación|indicaciones|regla|reglas|directriz|directrices|orden|órdenes|prompt|' +
    'prompts|restricción|restricciones|normas|limitaciones|políticas',
  safety:
    'reglas de seguridad|normas de seguridad|restricciones de seguridad|filtros de seguridad|' +
    'directrices de seguridad|prompt del sistema|tus instrucciones|sus instrucciones|tus reglas|' +
    'tus restricciones|tus directrices|medidas de seguridad|salvaguardas',
  agent: 'ia|asistente|agente|agentes|modelo de lenguaje|chatbot|inteligencia artificial|llm|bot',
  agentCall:
    'si eres una ia|si usted es una ia|si es una ia|si eres un asistente|si eres un modelo|si eres un agente|' +
    'si es usted un asistente|eres una ia|eres un asistente|como ia|como asistente de ia|como asistente|' +
    'como agente|querido asistente|estimado asistente|atención asistente|nota para el asistente|' +
    'nota al asistente|nota a la ia|mensaje para el asistente|instrucciones para la ia|' +
    'instrucciones para el asistente|instrucción para el asistente|instrucción para la ia|a la ia|para la ia que|' +
    'al resumir este|al resumir|cuando resumas|cuando resuma|antes de resumir|en tu resumen|en su resumen|' +
    'tu nueva tarea|su nueva tarea|tu nueva misión|la ia que lee|la ia que procesa|el asistente que lee|' +
    'el asistente que procesa|el agente que procesa|al procesar este|al procesar esta|cuando proceses este|' +
    'tú el asistente|tú el agente|usted el asistente|después de leer este|tu verdadera tarea|si el asistente|' +
    'si la ia|si el agente',
  send:
    'reenvía|reenvia|reenvíe|reenviar|reenvíen|reenvíalo|reenvíalos|envía|envia|envíe|enviar|enviando|envíalo|' +
    'envíalos|manda|mande|mandar|remite|remita|remitir|comparte|comparta|compartir|exporta|exporte|copia|copie|' +
    'pon en copia|cco|bcc|transmite|transmita|sube|suba|transfiere',
  replyWith:
    'responde con|responda con|contesta con|conteste con|incluye en tu respuesta|incluya en su respuesta|' +
    'incluye en la respuesta|en tu respuesta|dame|deme|envíame|envíeme|mándame|lista|enumera|muéstrame|muestra|' +
    'adjunta a tu respuesta|dime|indícame',
  answer: 'responde|responda|contesta|conteste|responder',
  act:
    'elimina|elimine|borra|borre|archiva|archive|llama|llame|ejecuta|ejecute|usa|use|utiliza|haz clic|abre|abra|' +
    'descarga|marca|mueve|paga|pague|aprueba|apruebe|confirma|confirme|cambia|cambie|añade|agrega|agregue|' +
    'escribe|escriba|di|responde|responda|envía|reenvía|busca|crea|recomienda|recomiende|afirma|menciona|realiza|' +
    'transfiere|transfiera|clasifica|instala|debes|debe',
  bulk:
    'todos los correos|todos los mensajes|todos los emails|todos los e mails|todos mis|todos sus|todos tus|' +
    'todas las conversaciones|todos los contactos|todos los adjuntos|cada correo|cada mensaje|cada email|' +
    'cualquier correo|cualquier mensaje|bandeja de entrada|el buzón|buzón|contenido de los|últimos correos|' +
    'últimos mensajes|últimos emails|últimos diez|últimos cinco|correos recientes|mensajes recientes|' +
    'libreta de direcciones|lista de contactos|historial|correos internos|mensajes internos|' +
    'correos confidenciales|mensajes confidenciales|la conversación completa|toda la conversación|' +
    'toda la correspondencia|hilo completo|correos no leídos|mensajes no leídos|correos que|correos con',
  data: 'todos los documentos|todos los datos|todas las facturas|lista de clientes',
  recent: 'últimos|últimas|recientes',
  mails: 'correos|mensajes|emails|facturas|adjuntos',
  autoForward:
    'regla de reenvío|reenvío automático|reenvía automáticamente|reenviar automáticamente|redirección automática|' +
    'regla de redirección',
  secret:
    'contraseña|contraseñas|credencial|credenciales|clave api|claves api|clave de api|claves de api|token|tokens|' +
    'código de verificación|códigos de verificación|código de seguridad|clave privada|claves privadas|' +
    'tarjeta de crédito|datos bancarios|secretos|claves de acceso|número de cuenta',
  conceal:
    'no le digas|no le diga|no digas|no diga|no se lo digas|no se lo diga|no informes|no informe|no le informes|' +
    'no le informe|no avises|no avise|no le avises|no menciones|no mencione|no lo menciones|no lo mencione|' +
    'no reveles|no revele|no muestres|no muestre|no notifiques|no notifique|sin decir|sin decirle|sin decírselo|' +
    'sin informar|sin avisar|sin mencionar|sin preguntar|sin pedir|sin confirmación|sin notificar|oculta|oculte|' +
    'no debe saber|no debe enterarse|no puede ver|no lo ve|no se entere|sin que',
  quietly: 'en secreto|secretamente|silenciosamente|discretamente|en silencio|en segundo plano|a escondidas',
  user:
    'usuario|al usuario|el usuario|usuaria|propietario|destinatario|nadie|titular|tu jefe|humano|persona|resumen|' +
    'dueño',
  reveal:
    'revela|revele|muestra|muestre|imprime|repite|repita|divulga|da|dame|escribe|comunica|cita|copia|envíame|' +
    'lista|comparte|indica|dime|responde con',
  prompt:
    'prompt del sistema|prompt de sistema|mensaje del sistema|instrucciones del sistema|tus instrucciones|' +
    'sus instrucciones|tu prompt|tus reglas|tus herramientas|tu configuración|instrucciones iniciales|' +
    'instrucciones originales|indicaciones del sistema|tus directrices',
  unlock:
    'modo desarrollador|modo sin restricciones|modo sin restricción|modo administrador|modo mantenimiento|' +
    'modo depuración|ahora eres|a partir de ahora eres|desde ahora eres|a partir de ahora actúa|' +
    'sin restricciones|sin ninguna restricción|restricciones han sido|restricciones quedan|' +
    'restricciones levantadas|restricciones eliminadas|ya no se aplican|ya no aplican|actúa como|actúe como|' +
    'finge|haz de cuenta|compórtate como|jailbreak|no tienes restricciones|restricciones se han levantado',
  systemic:
    'mensaje del sistema|mensaje de sistema|instrucción del sistema|instrucciones del sistema|nota del sistema|' +
    'nota del desarrollador|nota del administrador|nueva instrucción|nuevas instrucciones|instrucción oculta|' +
    'instrucciones ocultas|instrucción secreta|instrucciones importantes|instrucción prioritaria|' +
    'actualización del sistema|instrucción interna|fin del mensaje|fin del correo|aviso del sistema|' +
    'instrucciones adicionales',
  authorise:
    'el usuario ha|te autorizo|le autorizo|estás autorizado|está autorizado|ya ha aprobado|ya aprobó|' +
    'ya está aprobado|ha dado su consentimiento|en nombre del usuario|ha autorizado|previamente autorizado|' +
    'el usuario ya',
  oddForm: 'al revés|en base64|base64|rot13|como un pirata|en morse|en mayúsculas|en forma de poema',
  yourAnswer: 'tu respuesta|su respuesta|responde|tu mensaje|escribe tu',
  mine:
    'mi anterior|mis anteriores|mi último|mi última|mis instrucciones|nuestro anterior|nuestro último|mi correo|' +
    'mi mensaje|envié|instrucciones de montaje',
  suspicion:
    'sospechoso|sospechosos|sospechosa|phishing|spam|fraude*|fraudulento*|abuso|por error|denunciar|estafa*|' +
    'reportar',
  unsubscribe:
    'darse de baja|darte de baja|cancelar la suscripción|dejar de recibir|boletín|atención al cliente|' +
    'candidatura*|suscripción|si tiene preguntas|cualquier pregunta|dudas',
  never: 'nunca|jamás|no comparta|no compartas|no envíe|no envíes|no reenvíe|no reenvíes|no responda|no facilite',
  firstPerson:
    'voy a|vamos a|hemos|puedo|podemos|le envío|les envío|te envío|puede|puedes|pueden|permite|permiten|' +
    'le reenvío|enviaré|enviaremos',
  aboutAttacks:
    'atacante*|ataque*|por ejemplo|investigador*|vulnerabilidad*|formación|concienciación|frases como|tales como|' +
    'detectado|detectamos|bloqueado|taller|charla|seminario|novela|capítulo',
  destroy: 'elimina|elimine|borra|borre|vacía',
  contents: 'el contenido|contenido del|contenido completo',
}
