{{ config(materialized='external', location='published_counts.csv', format='csv') }}

with counts as (
    select ward, count(*) as n from {{ ref('visits') }} group by ward
)
select ward, case when n < 10 then 'x' else cast(n as varchar) end as n from counts
union all
select 'Total', cast(sum(n) as varchar) from counts
order by ward
