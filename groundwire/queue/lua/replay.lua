-- Puts a dead letter back in line, its crashes forgiven; it runs alone, since it has crashed workers.
-- Returns 'ok', 'missing' or 'alive' (not a dead letter, or one no more).
local incarnation = ARGV[1]

local job = redis.call('HMGET', JOB, 'state', 'outcome', 'id', 'class', 'caller', 'timeout_ms', 'ttl_ms', 'incarnation', 'job')
if not job[1] then return 'missing' end
if job[8] == incarnation then return 'ok' end  -- this very call, sent twice
if job[1] ~= 'ended' or job[2] ~= 'DEAD_LETTER' or not job[9] then return 'alive' end
local first = redis.call('XRANGE', EVENTS, '1-0', '1-0')[1]
if not first then return 'missing' end

local retrieved = ''
for i = 1, #first[2], 2 do
  if first[2][i] == 'event' then retrieved = first[2][i + 1] end
end
local now = now_ms()
local deadline_ms = now + tonumber(job[6])
local arrival = redis.call('HINCRBY', COUNTERS, 'arrival', 1)
redis.call('DEL', EVENTS)
redis.call('ZREM', DEAD, job[3])
redis.call('HDEL', JOB, 'outcome', 'retryable', 'ended_by', 'worker', 'shared', 'attempt_sequence')
redis.call('HSET', JOB, 'state', 'waiting', 'incarnation', incarnation, 'nonce', incarnation, 'deadline_ms', deadline_ms,
  'attempt', 0, 'crashes', 0, 'alone', '1', 'arrival', arrival)
add_event(1, retrieved, '')
add_ticket()
redis.call('ZADD', WAITING, deadline_ms, job[3])
join_line(job[3], job[4], job[5], arrival)
redis.call('PEXPIREAT', JOB, deadline_ms + tonumber(job[7]))
redis.call('PEXPIREAT', EVENTS, deadline_ms + tonumber(job[7]))
return 'ok'
