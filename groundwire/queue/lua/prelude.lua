-- Put before every script of a job. All keys carry the partition's hash tag, so a script stays in one Cluster slot.
local JOB, EVENTS, JOBS, WAITING, RUNNING, DEAD, TICKETS =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local GROUP = 'workers'
local PREFIX = string.sub(JOBS, 1, -#'jobs' - 1)

-- Redis's own clock: workers' clocks are never compared.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- An event says under which claim it was written, and after which event that claim (or its last attempt) began: who has
-- seen later events of another claim knows by it that an older state was put back.
local function add_event(sequence, event, text)
  local job = redis.call('HMGET', JOB, 'incarnation', 'nonce', 'attempt_sequence')
  redis.call('XADD', EVENTS, string.format('%d-0', sequence), 'incarnation', job[1], 'event', event, 'text', text,
    'nonce', job[2] or '', 'begins_after', job[3] or '0')
  redis.call('HSET', JOB, 'sequence', sequence)
end

-- Whether not all is there that a worker has written: an older state was put back (a restart from an old file, a failover
-- to a replica that lagged), or the events were evicted. Text would be missing from the answer.
local function is_behind(stored_sequence, written_sequence)
  return tonumber(stored_sequence) < written_sequence or redis.call('EXISTS', EVENTS) == 0
end

-- The stream holds tickets: each says that some job waits, and which one is decided when a worker claims it. From then
-- on the ticket is bound to its job.
local function add_ticket()
  redis.call('XADD', JOBS, '*', 'ticket', '1')
end

-- Only what was delivered may be deleted: a hole after the group's position turns its lag into nil, which autoscalers
-- read as idle. XACK says whether it was; what was not stays, and the worker that gets it drops it.
local function forget_ticket(entry)
  redis.call('HDEL', TICKETS, entry)
  if redis.call('XACK', JOBS, GROUP, entry) == 1 then
    redis.call('XDEL', JOBS, entry)
  end
end

local NUMBERS = {'deadline_ms', 'timeout_ms', 'ttl_ms', 'arrival', 'attempt', 'crashes', 'max_crashes', 'sequence'}
-- Whether all that scripts count with is there. A job that was evicted in part, or that somebody else wrote into, is lost:
-- a script that fails at it would fail at it again and again, and hold up all others.
local function is_whole(job_key)
  if redis.call('TYPE', job_key).ok ~= 'hash' then return false end
  for _, number in ipairs(redis.call('HMGET', job_key, unpack(NUMBERS))) do
    if not tonumber(number) then return false end
  end
  return true
end

-- The jobs that run beside each other on one worker, so that the crash of one is not held against the others.
local function held_by(worker) return PREFIX .. 'held:' .. worker end
