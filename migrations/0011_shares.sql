-- Shares of an account: of webhooks, of their fan-out, of alert mail. What alerts are sent to is sealed.

-- Each event of an account makes a row per webhook.
alter table accounts add column webhooks_max integer not null default 100 check (webhooks_max between 1 and 2000);

-- Accounts that have more to fan out than a round of the tail takes. Their events after `cursor`, up to where the tail has
-- come, are fanned out in slices, account by account: one with a million keeps nobody waiting.
create table webhook_backlogs (
  account_id uuid primary key references accounts,
  cursor bigint not null,
  -- When it last had a slice, or was put here. The longest ago is next.
  served_at timestamptz not null
) with (fillfactor = 50);

-- The accounts that the installation itself sends from. What sandbox accounts cause is sent from one that is a sandbox too,
-- so it meets the simulator and suppresses nobody's address.
create table operator_senders (
  kind text primary key check (kind in ('live', 'sandbox')),
  account_id uuid not null references accounts,
  tenant_id uuid not null references tenants
);

-- Chat URLs and routing keys open doors of their own. Sealed under SECRET_KEY, bound to the row; what earlier versions stored
-- in clear is sealed by a loop.
alter table alert_contacts
  alter column target drop not null,
  add column sealed_target text,
  add constraint alert_contacts_one_target check (num_nonnulls(target, sealed_target) = 1);

-- A mail that was accepted is sent; what the receiver said of it makes it delivered or dead. `mail_day`: the day whose count
-- it is part of.
alter table alert_notifications
  add column mail_day date,
  drop constraint alert_notifications_status_check,
  add constraint alert_notifications_status_check check (status in ('pending', 'sent', 'delivered', 'dead'));

-- Alert mails of each account, in UTC days.
create table alert_mail_days (
  account_id uuid not null,
  day date not null,
  mails integer not null,
  primary key (account_id, day)
);
