-- A workload for hartley plan: wishes and weights stand in comments.

SELECT AVG(age) FROM people;

SELECT MEDIAN(income) FROM people; -- weight=2

SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis;

-- error=0.5
SELECT AVG(height) FROM people;
