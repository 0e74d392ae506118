-- The only way for a job to end, whoever ends it and however. Returns 'ended' (by this call), 'already', 'stale' (the
-- nonce is not the one expected), 'missing', or 'behind' (not all that the answer's worker has written is there).
local expected_nonce, token, event, outcome, retryable = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local dead_ttl_ms, written_sequence = tonumber(ARGV[6]), tonumber(ARGV[7])

local job = redis.call('HMGET', JOB, 'state', 'nonce', 'ended_by', 'entry', 'sequence', 'attempt_sequence', 'ttl_ms', 'id',
  'class', 'caller', 'worker')
if not job[1] then return 'missing' end
if job[1] == 'ended' then
  if job[3] == token then return 'ended' end  -- this very call, sent twice
  return 'already'
end
if expected_nonce ~= '' and expected_nonce ~= job[2] then return 'stale' end
if outcome == 'FINISHED' and is_behind(job[5], written_sequence) then return 'behind' end

local text = {}
if job[6] then
  for _, entry in ipairs(redis.call('XRANGE', EVENTS, string.format('%d-0', job[6] + 1), '+')) do
    local fields = entry[2]
    for i = 1, #fields, 2 do
      if fields[i] == 'text' then text[#text + 1] = fields[i + 1] end
    end
  end
end
add_event(job[5] + 1, event, table.concat(text))
redis.call('HSET', JOB, 'state', 'ended', 'outcome', outcome, 'retryable', retryable, 'ended_by', token)
redis.call('HDEL', JOB, 'nonce', 'entry', 'lease_until_ms')
if job[1] == 'waiting' then
  redis.call('ZREM', WAITING, job[8])
  leave_line(job[8], job[9], job[10])
else
  redis.call('ZREM', RUNNING, job[8])
  redis.call('SREM', held_by(job[11]), job[8])
  forget_ticket(job[4])
end

local ttl_ms = tonumber(job[7])
if outcome == 'DEAD_LETTER' then
  local now = now_ms()
  redis.call('ZADD', DEAD, now, job[8])
  redis.call('ZREMRANGEBYSCORE', DEAD, '-inf', now - dead_ttl_ms)
  ttl_ms = math.max(ttl_ms, dead_ttl_ms)
else
  redis.call('HDEL', JOB, 'job')  -- the largest part, and of no use to anybody now; a dead letter may be replayed
end
redis.call('PEXPIRE', JOB, ttl_ms)
redis.call('PEXPIRE', EVENTS, ttl_ms)
return 'ended'
