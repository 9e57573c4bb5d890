-- Every record a cleaning rule touched, with what it did there and where the record is.
-- grain: one finding; key: source_id, version, position, ordinal
-- inputs: diagnostics, cleaning_rules, sources
-- parameters: $rule, a name of cleaning_rules
select
    diagnostics.rule,
    cleaning_rules.meaning,
    diagnostics.action,
    diagnostics.detail,
    sources.path,
    diagnostics.line,
    diagnostics.source_id,
    diagnostics.version,
    diagnostics.position,
    diagnostics.ordinal,
    diagnostics.session_id,
    diagnostics.attempt_id,
    diagnostics.trajectory_id,
    diagnostics.record_key
from diagnostics
join cleaning_rules using (rule)
left join sources using (source_id, version)
where diagnostics.rule = $rule
order by diagnostics.source_id, diagnostics.version, diagnostics.position, diagnostics.ordinal;
