-- A lease belongs to what is being sent: who changes a row by its lease need not ask for its status.
alter table queue add constraint queue_lease_check check ((status = 'sending') = (lease_token is not null));
