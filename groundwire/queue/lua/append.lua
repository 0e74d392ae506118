-- Writes an event of the worker that holds a job. Returns 'ok', 'expired' (past its deadline), 'lost', or 'behind' (what
-- was written before is not all there, see `is_behind`).
-- The sequence is the worker's, so an event that is sent twice (its reply was lost) is written once.
-- With a number of an attempt the event begins it: the end's text is that of the last one alone.
local nonce, sequence, event, text, attempt = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local job = redis.call('HMGET', JOB, 'state', 'nonce', 'deadline_ms', 'sequence')
if job[1] ~= 'running' or job[2] ~= nonce then return 'lost' end
if tonumber(job[3]) <= now_ms() then return 'expired' end
if is_behind(job[4], sequence - 1) then return 'behind' end
if sequence == tonumber(job[4]) + 1 then
  if attempt ~= '' then redis.call('HSET', JOB, 'attempt', attempt, 'attempt_sequence', sequence - 1) end
  add_event(sequence, event, text)
end
return 'ok'
