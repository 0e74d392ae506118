-- Makes a job that has its end already: an equal one was answered before. Nothing waits, no worker sees it.
-- Returns 'created', 'exists' or 'conflict', as enqueueing does.
local id, incarnation, request_hash, ttl_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local retrieved, started, delta, ended, text = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]

local old = redis.call('HMGET', JOB, 'incarnation', 'request_hash', 'state', 'retryable')
if old[1] then
  if old[1] == incarnation then return 'created' end  -- this very call, sent twice
  if old[2] ~= request_hash then return 'conflict' end
  if old[3] ~= 'ended' or old[4] ~= '1' then return 'exists' end
end
redis.call('DEL', JOB, EVENTS)
redis.call('ZREM', DEAD, id)
redis.call('HSET', JOB, 'id', id, 'incarnation', incarnation, 'request_hash', request_hash, 'state', 'ended',
  'outcome', 'FINISHED', 'retryable', '0', 'attempt', 1, 'deadline_ms', now_ms(), 'ttl_ms', ttl_ms)
add_event(1, retrieved, '')
add_event(2, started, '')
add_event(3, delta, text)
add_event(4, ended, text)
redis.call('PEXPIRE', JOB, ttl_ms)
redis.call('PEXPIRE', EVENTS, ttl_ms)
return 'created'
