-- Findings, losses and trajectory labels that name a rule this version does not have.
-- grain: one row
-- inputs: diagnostics, ledger, cleaning_rules
with named as (
    select rule, rule_version from diagnostics
    union all
    select rule, null from ledger where disposition <> 'kept'
)
select
    count(*) as findings,
    count(*) filter (
        cleaning_rules.rule is null
        or (named.rule_version is not null and named.rule_version <> cleaning_rules.rule_version)
    ) as without_rule
from named
left join cleaning_rules using (rule);
