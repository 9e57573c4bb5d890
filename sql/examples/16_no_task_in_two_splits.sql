-- Is any bench or validation task, or any text of one, in the training set?
-- Both counts must be 0.
-- inputs: sft_examples, task_status, tasks
with held_out as (
    select task_id, task_version, instruction
    from task_status
    join tasks using (task_id, task_version)
    where split <> 'train'
)
select
    (select count(*) from sft_examples where split = 'train') as train_rows,
    (select count(*) from held_out) as held_out_tasks,
    (
        select count(*) from sft_examples semi join held_out using (task_id, task_version) where split = 'train'
    ) as same_task,
    (
        select count(*)
        from sft_examples
        join tasks using (task_id, task_version)
        semi join held_out on held_out.instruction = tasks.instruction
        where sft_examples.split = 'train'
    ) as same_instruction;
