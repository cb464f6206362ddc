-- Sessions in a row that ended because the provider refused the token. Failures of other kinds say nothing about the grant.
alter table connections add column refusals smallint not null default 0;
