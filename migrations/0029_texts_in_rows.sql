-- Most mail quotes nothing: its new text is its text and is stored once, with null here.
alter table source_texts alter column extracted_text drop not null;
-- The texts of an ordinary mail stay in its row: compressing them took as long as storing them.
alter table source_texts set (toast_tuple_target = 8160);
-- The words of one too, which ranking reads row by row.
alter table message_words set (toast_tuple_target = 8160);
