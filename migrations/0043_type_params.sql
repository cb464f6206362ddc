-- Parameters of an attachment's content type, such as `; charset="koi8-r"`: its text is read by them, and a forward repeats
-- them. Null where there are none, and for mail from before.
alter table source_attachments add column type_params text;
