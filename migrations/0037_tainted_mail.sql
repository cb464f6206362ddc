-- What the HTML of a mail shows and hides besides its text: a new mail must not repeat it unseen where the mail is tainted.
-- Null for mail that was filed before this was kept, and for what was sent.
alter table source_texts add column html_text text;
