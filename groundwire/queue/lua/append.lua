-- Writes an event of the worker that holds a job. Returns 'ok', 'expired' (past its deadline) or 'lost'.
-- The sequence is the worker's, so an event that is sent twice (its reply was lost) is written once.
local nonce, sequence, event, text = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local job = redis.call('HMGET', JOB, 'state', 'nonce', 'deadline_ms', 'sequence')
if job[1] ~= 'running' or job[2] ~= nonce then return 'lost' end
if tonumber(job[3]) <= now_ms() then return 'expired' end
if sequence == tonumber(job[4]) + 1 then add_event(sequence, event, text) end
return 'ok'
