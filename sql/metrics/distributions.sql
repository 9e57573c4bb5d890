-- How turns, tokens, tool calls and scores are spread over all trajectories, in bars of a round width.
-- grain: one bar of one measure
-- inputs: trajectory_overview
with figures as (
    unpivot (
        select
            trajectory_id,
            turns::double as turns,
            text_tokens::double as text_tokens,
            tool_calls::double as tool_calls,
            tool_errors::double as tool_errors,
            score_code as score
        from trajectory_overview
    )
    on turns, text_tokens, tool_calls, tool_errors, score into name measure value figure
),
widths as (
    select
        measure,
        count(*) as measure_n,
        case
            when measure = 'score' then 0.05
            when max(figure) < 25 then 1
            else (
                select min(width) from (values (1), (2), (5), (10), (20), (50), (100), (200), (500), (1000), (2000), (5000),
                    (10000), (20000), (50000), (100000), (1000000)) as round_widths (width)
                where width >= max(figure) / 25
            )
        end::double as width
    from figures
    group by measure
)
select
    figures.measure,
    widths.measure_n,
    least(floor(figures.figure / widths.width), case when figures.measure = 'score' then 19 else 1e9 end) * widths.width
        as bar_low,
    widths.width,
    count(*) as n
from figures
join widths using (measure)
group by figures.measure, widths.measure_n, bar_low, widths.width
order by figures.measure, bar_low;
