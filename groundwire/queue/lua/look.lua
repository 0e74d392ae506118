-- What a follower needs to know of its job, read at once and with the clock of the node that keeps it.
-- Returns {now_ms, incarnation, state, sequence, deadline_ms, nonce, has_events, lease_until_ms, attempt_sequence};
-- incarnation is false for no job.
local job = redis.call('HMGET', JOB, 'incarnation', 'state', 'sequence', 'deadline_ms', 'nonce', 'lease_until_ms',
  'attempt_sequence')
return {now_ms(), job[1], job[2], job[3], job[4], job[5], redis.call('EXISTS', EVENTS), job[6], job[7]}
