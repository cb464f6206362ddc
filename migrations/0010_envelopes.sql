-- Recipients that shared an SMTP transaction share a return path. Which one it was is kept with the delivery, so that a report
-- to it marks nobody else. Null where the recipient had a return path of its own.
alter table deliveries add column envelope integer;
