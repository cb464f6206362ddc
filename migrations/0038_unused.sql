-- Nobody asks by them: every question about arrivals is one of an account, and changes of a folder are found without it.
drop index arrivals_due;
alter table remote_folders drop column highest_modseq;
