-- Numbers of grants, for all mailboxes. Counted for each connection they began anew when a mailbox was disconnected and
-- connected again, and work that had begun under the old grant passed for work of the new one. They begin above all that were
-- counted so.
create sequence connection_generations as integer start with 1000000;
