-- What a resumed pause held and pauses that were active then match as well is theirs from that moment on, and is moved to
-- them behind the answer. Named until all of it has been moved; the rest is released or cancelled.
alter table suspensions add column kept_by uuid[] not null default '{}';
update suspensions set kept_by = array[moved_to] where moved_to is not null and drained_at is null;
alter table suspensions drop column moved_to;

-- Mail that was being sent when a pause came is held when it returns to the queue, by the transaction that returns it. What
-- returned before this version is found by parking once more.
update suspensions set parked_at = null
where status = 'active' and id in (select suspension_id from suspension_stragglers);
drop table suspension_stragglers;
