-- Makes a worker the only one that may write to a job, until its lease ends.
-- Returns {'claimed', attempt, sequence, job}, or {'dropped'} (nothing to do, entry gone), {'held'} (somebody else's),
-- {'expired', nonce} or {'exhausted', nonce, crashes} (to be ended by the caller with that nonce).
local entry, worker, nonce, lease_ms, is_takeover = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'

local job = redis.call('HMGET', JOB, 'state', 'entry', 'nonce', 'lease_until_ms', 'deadline_ms', 'crashes',
  'max_crashes', 'attempt', 'sequence', 'job', 'id')
local state = job[1]
if not state or state == 'ended' or job[2] ~= entry then
  forget_entry(entry)
  return {'dropped'}
end
if state == 'running' and job[3] == nonce then  -- this very call, sent twice
  return {'claimed', tonumber(job[8]), tonumber(job[9]), job[10]}
end

local now = now_ms()
local crashes = tonumber(job[6])
if state == 'running' then
  if tonumber(job[4]) > now then return {'held'} end
  crashes = crashes + 1  -- a drained worker hands its job back, so whoever let a lease end has crashed
elseif is_takeover then
  -- Delivered and never claimed: only when its consumer has been silent for a lease.
  if #redis.call('XCLAIM', JOBS, GROUP, worker, lease_ms, entry, 'JUSTID') == 0 then return {'held'} end
end
if tonumber(job[5]) <= now then return {'expired', job[3]} end
if crashes >= tonumber(job[7]) then return {'exhausted', job[3], crashes} end

redis.call('XCLAIM', JOBS, GROUP, worker, 0, entry, 'JUSTID')
local attempt = tonumber(job[8]) + 1
redis.call('HSET', JOB, 'state', 'running', 'nonce', nonce, 'worker', worker, 'lease_until_ms', now + lease_ms,
  'crashes', crashes, 'attempt', attempt, 'attempt_sequence', job[9])
redis.call('ZREM', WAITING, job[11])
redis.call('ZADD', RUNNING, job[5], job[11])
return {'claimed', attempt, tonumber(job[9]), job[10]}
