-- Turns, tokens, tool calls and tool types a trajectory, kept and all, beside the four figures of the paper.
-- grain: one population x measure; key: population, measure
-- inputs: trajectories, sft_examples
-- low and high: normal 95 % interval of the mean. The paper's means are over its own 24.5K kept trajectories (teachers
-- MiniMax-M2.5 and GLM-5.1, its own tokenizer); ours are over what is in this lake, text_tokens by characters / 4.
create or replace view trajectory_statistics as
with populations as (
    select 'kept for training' as population, 1 as position, trajectories.*
    from trajectories
    semi join sft_examples on sft_examples.trajectory_id = trajectories.trajectory_id
    union all
    select 'all trajectories', 2, trajectories.* from trajectories
),
figures as (
    unpivot (
        select
            population,
            position,
            policy,
            turns::double as turns,
            text_tokens::double as text_tokens,
            tool_calls::double as tool_calls,
            tool_types::double as tool_types
        from populations
    )
    on turns, text_tokens, tool_calls, tool_types into name measure value figure
),
paper (measure, place, label, paper_mean) as (
    values
        ('turns', 1, 'Assistant turns', 13.00::double),
        ('text_tokens', 2, 'Tokens (ours: characters / 4)', 18670.0::double),
        ('tool_calls', 3, 'Tool calls', 15.82::double),
        ('tool_types', 4, 'Distinct tools', 3.25::double)
),
summary as (
    select
        population,
        position,
        measure,
        count(*) as n,
        avg(figure) as mean,
        median(figure) as median,
        quantile_cont(figure, 0.9) as p90,
        case when count(*) > 1 then 1.96 * stddev_samp(figure) / sqrt(count(*)) end as margin,
        string_agg(distinct coalesce(policy, 'external log'), ', ' order by coalesce(policy, 'external log')) as policies
    from figures
    group by population, position, measure
)
select
    summary.population,
    summary.measure,
    paper.label,
    summary.n,
    summary.mean,
    summary.mean - summary.margin as low,
    summary.mean + summary.margin as high,
    summary.median,
    summary.p90,
    paper.paper_mean,
    'arXiv 2604.26904: mean of about 24,500 kept trajectories, not ours' as paper_source,
    summary.policies
from summary
join paper using (measure)
order by summary.position, paper.place;
