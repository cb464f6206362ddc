-- Approvals decided by a link in a mail to the alert contacts of the account.

alter table accounts add column approval_links boolean not null default false;

-- A contact is told of an alert, or that a mail waits for an approval. No foreign key: an approval goes with its mail, and
-- what is left to tell of it then is skipped.
alter table alert_notifications
  alter column alert_id drop not null,
  add column approval_id uuid,
  add constraint alert_notifications_one_subject check (num_nonnulls(alert_id, approval_id) = 1);

-- Each contact is told of an approval once.
create unique index alert_notifications_once_approval on alert_notifications (approval_id, contact_id)
  where approval_id is not null;
