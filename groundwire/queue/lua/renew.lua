-- Extends the lease of the worker that holds a job. Returns 'ok', 'expired' (past its deadline) or 'lost'.
local nonce, worker, lease_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

local job = redis.call('HMGET', JOB, 'state', 'nonce', 'deadline_ms', 'entry')
if job[1] ~= 'running' or job[2] ~= nonce then return 'lost' end
local now = now_ms()
if tonumber(job[3]) <= now then return 'expired' end
redis.call('HSET', JOB, 'lease_until_ms', now + lease_ms)
-- JUSTID, or each renewal would count as a delivery; pcall, since the group may have been destroyed meanwhile.
redis.pcall('XCLAIM', JOBS, GROUP, worker, 0, job[4], 'JUSTID')
return 'ok'
