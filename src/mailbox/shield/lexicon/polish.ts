// Polish.
import type { Lexicon } from './concept.ts'

export const polish: Lexicon = {
  ignore:
    'zignoruj|ignoruj|zignorować|ignorować|zignorujcie|pomiń|pomin|pominąć|zapomnij|zapomnieć|nie zważaj|' +
    'nie zwracaj uwagi|obejdź|obejsc|omiń|nadpisz|unieważnij|odrzuć|nie przestrzegaj|nie stosuj się|zlekceważ|' +
    'anuluj',
  prior:
    'poprzedni*|wcześniejsz*|powyższ*|wszystkie|wszystkich|wszelkie|wszelkich|swoje|twoje|twoich|swoich|' +
    'pierwotn*|dotychczasow*|istniejąc*|bezpieczeństwa|systemow*|otrzyman*|uprzedni*|wszystko|domyśln*',
  rules:
    'instrukcje|instrukcję|instrukcji|polecenia|poleceń|polecenie|zasady|zasad|reguły|reguł|wytyczne|wytycznych|' +
    'prompt|prompty|promptu|ograniczenia|ograniczeń|nakazy|rozkazy|dyrektywy|wskazówki',
  safety:
    'zasady bezpieczeństwa|zasad bezpieczeństwa|reguły bezpieczeństwa|ograniczenia bezpieczeństwa|' +
    'ograniczeń bezpieczeństwa|filtry bezpieczeństwa|prompt systemowy|twoje instrukcje|swoje instrukcje|' +
    'swoje zasady|twoje zasady|twoje ograniczenia|swoje ograniczenia|swoje wytyczne|zabezpieczenia',
  agent:
    'ai|sztuczna inteligencja|sztuczną inteligencją|asystent|asystenta|asystencie|agent|agenta|agencie|' +
    'model językowy|modelem językowym|chatbot|llm|bot',
  agentCall:
    'jeśli jesteś ai|jeżeli jesteś ai|jeśli jesteś sztuczną|jeśli jesteś asystentem|jeżeli jesteś asystentem|' +
    'jeśli jesteś modelem|jeżeli jesteś modelem|jeśli jesteś agentem|jesteś ai|jako ai|jako asystent|jako agent|' +
    'drogi asystencie|szanowny asystencie|uwaga asystent|uwaga dla ai|uwaga dla asystenta|notatka dla ai|' +
    'notatka dla asystenta|wiadomość dla ai|wiadomość dla asystenta|instrukcja dla ai|instrukcje dla ai|' +
    'instrukcja dla asystenta|instrukcje dla asystenta|polecenie dla ai|polecenie dla asystenta|do asystenta|' +
    'podsumowując tę|podsumowując ten|podczas podsumowywania|gdy będziesz podsumowywać|kiedy podsumowujesz|' +
    'przed podsumowaniem|w podsumowaniu|w swoim podsumowaniu|twoje nowe zadanie|twoim nowym zadaniem|' +
    'ai która czyta|ai czytająca|asystent czytający|asystent który czyta|asystent przetwarzający|' +
    'asystent który przetwarza|agent przetwarzający|przetwarzając tę|przetwarzając ten|podczas przetwarzania|' +
    'ty asystencie|ty jako asystent|po przeczytaniu tej|twoje prawdziwe zadanie|jeśli asystent|jeżeli asystent|' +
    'jeśli agent',
  send:
    'prześlij|przeslij|przesłać|przesyłaj|przekaż|przekaz|przekazać|przekazuj|wyślij|wyslij|wysłać|wysyłaj|' +
    'roześlij|udostępnij|udostępnić|wyeksportuj|eksportuj|skopiuj|dodaj do udw|udw|bcc|cc|dw|podaj|załaduj|' +
    'prześlij dalej|odeślij',
  replyWith:
    'odpowiedz podając|odpowiedz z|w odpowiedzi podaj|umieść w odpowiedzi|dołącz do odpowiedzi|' +
    'zawrzyj w odpowiedzi|w odpowiedzi umieść|podaj mi|wyślij mi|prześlij mi|wypisz|wymień|pokaż mi|wyświetl|' +
    'odpisz podając|dołącz',
  answer: 'odpowiedz|odpowiadaj|odpisz',
  act:
    'usuń|usun|skasuj|zarchiwizuj|wywołaj|wykonaj|uruchom|użyj|uzyj|kliknij|otwórz|pobierz|oznacz|przenieś|' +
    'zapłać|zatwierdź|potwierdź|zmień|dodaj|napisz|powiedz|odpowiedz|wyślij|prześlij|przekaż|wyszukaj|znajdź|' +
    'utwórz|poleć|oceń|stwierdź|wspomnij|przelej|zainstaluj|musisz|należy',
  bulk:
    'wszystkie e maile|wszystkie maile|wszystkie emaile|wszystkie wiadomości|wszystkich wiadomości|' +
    'wszystkich maili|wszystkich e maili|wszystkie załączniki|wszystkie kontakty|wszystkie rozmowy|' +
    'wszystkie przyszłe|wszystkie nieprzeczytane|każdy e mail|każdą wiadomość|każdego maila|każdy mail|' +
    'każdej wiadomości|skrzynki odbiorczej|skrzynce odbiorczej|skrzynkę odbiorczą|skrzynka odbiorcza|skrzynki|' +
    'treść wszystkich|treść wiadomości|treści wiadomości|ostatnie wiadomości|ostatnich wiadomości|ostatnie maile|' +
    'ostatnich maili|ostatnie dziesięć|ostatnich dziesięć|ostatnie pięć|książkę adresową|listę kontaktów|' +
    'historię|wewnętrzne wiadomości|wewnętrzne maile|wewnętrznych wiadomości|poufne wiadomości|' +
    'poufnych wiadomości|poufne maile|poufne e maile|cały wątek|całą korespondencję|całą rozmowę|' +
    'nieprzeczytane wiadomości',
  data: 'wszystkie dokumenty|wszystkie dane|wszystkie faktury|listę klientów',
  recent: 'ostatnie|ostatnich|najnowsze|najnowszych',
  mails: 'e maile|maile|maili|wiadomości|faktury|faktur|załączniki',
  autoForward:
    'regułę przekazywania|regułę przekierowania|automatyczne przekazywanie|automatycznie przekazuj|' +
    'automatyczne przekierowanie|automatycznie przesyłaj',
  secret:
    'hasło|hasła|haseł|dane logowania|danych logowania|klucz api|klucze api|kluczy api|token|tokeny|tokenów|' +
    'kod weryfikacyjny|kody weryfikacyjne|kod bezpieczeństwa|klucz prywatny|klucze prywatne|karty kredytowej|' +
    'dane bankowe|numer konta|poświadczenia|kody dostępu|kod jednorazowy',
  conceal:
    'nie mów|nie informuj|nie powiadamiaj|nie wspominaj|nie ujawniaj|nie pokazuj|nie zdradzaj|nie ostrzegaj|' +
    'nie zgłaszaj|bez informowania|bez powiadamiania|bez wiedzy|bez pytania|bez potwierdzenia|bez wspominania|' +
    'ukryj|zataj|nie może wiedzieć|nie powinien wiedzieć|nie może się dowiedzieć|nie widzi|nie może zobaczyć|' +
    'niewidoczne dla|w tajemnicy przed|nie pytaj',
  quietly: 'potajemnie|po cichu|cicho|dyskretnie|w tle|w tajemnicy|niezauważenie|ukradkiem',
  user:
    'użytkownik|użytkownika|użytkownikowi|użytkownikiem|właściciel|właścicielowi|właściciela|odbiorcy|nikomu|' +
    'człowiek|szefowi|podsumowaniu',
  reveal:
    'ujawnij|pokaż|wyświetl|wypisz|powtórz|zdradź|podaj|napisz|udostępnij|zacytuj|skopiuj|wyślij mi|wymień|' +
    'przekaż|wydrukuj|odpowiedz podając',
  prompt:
    'prompt systemowy|promptu systemowego|prompta systemowego|komunikat systemowy|instrukcje systemowe|' +
    'instrukcji systemowych|swoje instrukcje|twoje instrukcje|swój prompt|twój prompt|swoje zasady|' +
    'swoje narzędzia|twoje narzędzia|swoją konfigurację|pierwotne instrukcje|swoje wytyczne',
  unlock:
    'tryb dewelopera|trybie dewelopera|tryb deweloperski|trybie deweloperskim|tryb programisty|' +
    'trybie bez ograniczeń|tryb bez ograniczeń|tryb administratora|trybie administratora|tryb serwisowy|' +
    'jesteś teraz|teraz jesteś|od teraz jesteś|od tej chwili jesteś|bez ograniczeń|bez żadnych ograniczeń|' +
    'ograniczenia zostały|ograniczenia zniesione|nie obowiązują|już nie obowiązują|zachowuj się jak|udawaj|' +
    'wciel się|jailbreak|nie masz ograniczeń',
  systemic:
    'komunikat systemowy|wiadomość systemowa|instrukcja systemowa|instrukcje systemowe|polecenie systemowe|' +
    'notatka systemowa|uwaga od programisty|notatka dewelopera|notatka programisty|notatka administratora|' +
    'nowa instrukcja|nowe instrukcje|nowe polecenie|nowe polecenia|ukryta instrukcja|ukryte instrukcje|' +
    'ukryte polecenie|tajna instrukcja|ważna instrukcja|ważne instrukcje|wewnętrzna instrukcja|koniec wiadomości|' +
    'aktualizacja systemu|dodatkowe instrukcje',
  authorise:
    'użytkownik już|użytkownik zatwierdził|użytkownik wyraził|użytkownik upoważnił|upoważniam cię|autoryzuję cię|' +
    'jesteś upoważniony|masz upoważnienie|zostało już zatwierdzone|już zatwierdził|wyraził zgodę|' +
    'w imieniu użytkownika|zostało zatwierdzone',
  oddForm: 'od tyłu|wspak|w base64|base64|rot13|jak pirat|alfabetem morse|wielkimi literami|w formie wiersza',
  yourAnswer: 'twoja odpowiedź|swoją odpowiedź|odpowiedz|twoją odpowiedź|napisz odpowiedź',
  mine:
    'moje poprzednie|mojego poprzedniego|moją poprzednią|moje wcześniejsze|mój poprzedni|mojej ostatniej|' +
    'moją ostatnią|nasze poprzednie|mój mail|moją wiadomość|instrukcje montażu|instrukcję montażu',
  suspicion: 'podejrzan*|phishing|spam|oszust*|nadużyc*|omyłkowo|przez pomyłkę|zgłoś|zgłosić|wyłudz*',
  unsubscribe:
    'wypisz się|wypisać się|zrezygnować z|anulować subskrypcję|newsletter|obsługi klienta|biuro obsługi|' +
    'aplikacj*|w razie pytań|masz pytania|mają państwo pytania',
  never: 'nigdy|nie udostępniaj|nie wysyłaj|nie przekazuj|nie podawaj|nie przesyłaj|prosimy nie',
  firstPerson:
    'będę|będziemy|przesyłam|przesyłamy|wysyłam|wysyłamy|wyślę|wyślemy|możesz|mogą państwo|można|mogę|możemy|' +
    'pozwala|umożliwia|przekazuję|przekażę',
  aboutAttacks:
    'atakujący|atakujących|napastnik*|atak|ataki|ataków|na przykład|np|badacz*|podatnoś*|szkolenie|szkoleniu|' +
    'zdania takie|takie jak|wykryto|wykryliśmy|zablokowano|warsztat*|wykład|webinar|powieść|rozdział',
  destroy: 'usuń|skasuj|opróżnij',
  contents: 'zawartość|pełną treść|całą treść',
}
