-- Returns a job to the line unfinished and unharmed: a drain, not a crash. Returns 'ok' or 'lost'.
-- It gets a new ticket, which autoscalers see as work that waits.
-- Events go on after the last one that its worker has written, also when that was lost: somebody may have read it.
local nonce, next_nonce, written_sequence = ARGV[1], ARGV[2], tonumber(ARGV[3])

local job = redis.call('HMGET', JOB, 'state', 'nonce', 'deadline_ms', 'entry', 'id', 'class', 'caller', 'arrival', 'worker',
  'sequence')
if job[1] ~= 'running' or job[2] ~= nonce then
  return job[2] == next_nonce and 'ok' or 'lost'  -- this very call, sent twice
end
forget_ticket(job[4])
redis.call('HSET', JOB, 'state', 'waiting', 'nonce', next_nonce,
  'sequence', math.max(tonumber(job[10]), written_sequence))
redis.call('HDEL', JOB, 'entry', 'worker', 'lease_until_ms', 'shared')
redis.call('ZREM', RUNNING, job[5])
redis.call('SREM', held_by(job[9]), job[5])
redis.call('ZADD', WAITING, job[3], job[5])
join_line(job[5], job[6], job[7], job[8])
add_ticket()
return 'ok'
