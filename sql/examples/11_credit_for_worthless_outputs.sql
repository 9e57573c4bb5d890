-- How much do worthless outputs earn, probe by probe? The original pays 0.12 to 0.16 for placeholders.
-- inputs: audits
select
    split_part(probe, ':', 1) as probe,
    count(score_code) as n,
    round(avg(score_code), 4) as mean_score,
    round(max(score_code), 4) as max_score,
    count(*) filter (not passed) as failed
from audits
group by split_part(probe, ':', 1)
order by mean_score desc, probe;
