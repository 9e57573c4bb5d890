-- Mutants by kind of mistake: made and noticed.
-- grain: one kind; key: kind
-- inputs: audits
select
    split_part(probe, ':', 2) as kind,
    count(*) as mutants,
    count(*) filter (passed) as killed
from audits
where starts_with(probe, 'mutant:')
group by kind
order by kind;
