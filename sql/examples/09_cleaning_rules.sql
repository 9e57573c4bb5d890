-- Which cleaning rules fired, how often, and in how many sessions?
-- inputs: diagnostics
select
    rule,
    rule_version,
    severity,
    action,
    count(*) as findings,
    count(distinct source_id) as sessions
from diagnostics
group by rule, rule_version, severity, action
order by findings desc, rule;
