-- Claims the job's id and puts it into the queue, or says why not.
-- Returns 'created', 'exists', 'conflict' or 'full'.
local id, incarnation, request_hash, job, retrieved = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local remaining_ms, ttl_ms, max_depth, max_crashes = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
-- Cancelled jobs leave their entries until a worker comes by: many times the depth of them means that none does.
local ENTRIES_PER_DEPTH = 8

local old = redis.call('HMGET', JOB, 'incarnation', 'request_hash', 'state', 'retryable')
if old[1] then
  if old[1] == incarnation then return 'created' end  -- this very call, sent twice
  if old[2] ~= request_hash then return 'conflict' end
  if old[3] ~= 'ended' or old[4] ~= '1' then return 'exists' end
end
if redis.call('ZCARD', WAITING) >= max_depth or redis.call('XLEN', JOBS) >= max_depth * ENTRIES_PER_DEPTH then
  return 'full'
end

local deadline_ms = now_ms() + remaining_ms
redis.call('DEL', JOB, EVENTS)
redis.call('ZREM', DEAD, id)
local entry = redis.call('XADD', JOBS, '*', 'id', id)
redis.call('HSET', JOB, 'id', id, 'incarnation', incarnation, 'request_hash', request_hash, 'job', job,
  'state', 'waiting', 'nonce', incarnation, 'entry', entry, 'deadline_ms', deadline_ms, 'ttl_ms', ttl_ms,
  'attempt', 0, 'crashes', 0, 'max_crashes', max_crashes)
add_event(1, retrieved, '')
redis.call('ZADD', WAITING, deadline_ms, id)
local gone_ms = math.max(deadline_ms, now_ms()) + ttl_ms
redis.call('PEXPIREAT', JOB, gone_ms)
redis.call('PEXPIREAT', EVENTS, gone_ms)
return 'created'
