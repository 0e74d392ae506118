-- Claims the job's id and puts it in line, or says why not.
-- Returns 'created', 'exists', 'conflict', 'full', or 'caller_full' (the caller, or all batch jobs, have their share).
local id, incarnation, request_hash, job, retrieved = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local remaining_ms, ttl_ms, max_depth, max_share = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local max_crashes, class, caller = ARGV[10], ARGV[11], ARGV[12]
-- Cancelled jobs leave their tickets until a worker comes by: many times the depth of them means that none does.
local TICKETS_PER_DEPTH = 8

local old = redis.call('HMGET', JOB, 'incarnation', 'request_hash', 'state', 'retryable')
if old[1] then
  if old[1] == incarnation then return 'created' end  -- this very call, sent twice
  if old[2] ~= request_hash then return 'conflict' end
  if old[3] ~= 'ended' or old[4] ~= '1' then return 'exists' end
end
local waiting = redis.call('ZCARD', WAITING)
if waiting >= max_depth then return 'full' end
local callers = redis.call('ZCARD', line_of('interactive', caller)) + redis.call('ZCARD', line_of('batch', caller))
if callers >= max_share or class == 'batch' and waiting >= max_share then return 'caller_full' end

-- A script that fails stays half done, so the stream is read before anything is written: others are told its name (of
-- autoscalers, say), and could have put something else there. The other keys' names are only known to these scripts.
local tickets = redis.call('XLEN', JOBS)

local now = now_ms()
local deadline_ms = now + remaining_ms
local arrival = redis.call('HINCRBY', COUNTERS, 'arrival', 1)
redis.call('DEL', JOB, EVENTS)
redis.call('ZREM', DEAD, id)
redis.call('HSET', JOB, 'id', id, 'incarnation', incarnation, 'request_hash', request_hash, 'job', job,
  'state', 'waiting', 'nonce', incarnation, 'deadline_ms', deadline_ms, 'timeout_ms', remaining_ms, 'ttl_ms', ttl_ms,
  'attempt', 0, 'crashes', 0, 'max_crashes', max_crashes, 'class', class, 'caller', caller, 'arrival', arrival)
add_event(1, retrieved, '')
if tickets < max_depth * TICKETS_PER_DEPTH or tickets - redis.call('ZCARD', RUNNING) <= waiting then add_ticket() end
redis.call('ZADD', WAITING, deadline_ms, id)
join_line(id, class, caller, arrival)
local gone_ms = math.max(deadline_ms, now) + ttl_ms
redis.call('PEXPIREAT', JOB, gone_ms)
redis.call('PEXPIREAT', EVENTS, gone_ms)
return 'created'
