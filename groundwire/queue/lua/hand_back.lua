-- Returns a job to the queue unfinished and unharmed: a drain, not a crash. Returns 'ok' or 'lost'.
-- It becomes a new entry, which autoscalers see as work that waits.
local nonce, next_nonce = ARGV[1], ARGV[2]

local job = redis.call('HMGET', JOB, 'state', 'nonce', 'deadline_ms', 'entry', 'id')
if job[1] ~= 'running' or job[2] ~= nonce then return 'lost' end
forget_entry(job[4])
redis.call('HSET', JOB, 'state', 'waiting', 'nonce', next_nonce, 'entry', redis.call('XADD', JOBS, '*', 'id', job[5]))
redis.call('HDEL', JOB, 'worker', 'lease_until_ms')
redis.call('ZREM', RUNNING, job[5])
redis.call('ZADD', WAITING, job[3], job[5])
return 'ok'
