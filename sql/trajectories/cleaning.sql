-- What cleaning found in the session of a trajectory.
-- grain: one finding
-- inputs: diagnostics
-- parameters: $trajectory_id, $source_id, $limit
select line, rule, rule_version, severity, action, detail, record_key
from diagnostics
where trajectory_id = $trajectory_id or source_id = $source_id
order by line, rule, ordinal
limit $limit;
