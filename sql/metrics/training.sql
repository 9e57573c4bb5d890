-- The loss of each training run, step by step.
-- grain: one step of one checkpoint's run
-- inputs: training_metrics, checkpoints
select checkpoint_id, checkpoints.method, checkpoints.examples, training_metrics.step, training_metrics.value as loss
from training_metrics
join checkpoints using (checkpoint_id)
where training_metrics.metric = 'loss'
order by checkpoint_id, training_metrics.step;
